"""Exhibits that need predictions: breakdowns by attribute and kinds of errors of recorded runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from spanwise.analysis import Analysis, SystemAnalysis, analyze
from spanwise.analysis.results import Breakdown
from spanwise.benchmark.papers import Exhibit
from spanwise.benchmark.predictions import predictions_path, read_predictions
from spanwise.benchmark.results import Result
from spanwise.corpora.selection import Selection, select
from spanwise.errors import InputError
from spanwise.recipe import Recipe
from spanwise.render.elements import Bars, Element, Heatmap, Interval, Series, Table, Value

ATTRIBUTES = ("entity_length", "sentence_length", "label_consistency", "entity_density", "oov_density")
SIZES = ("XS", "S", "L", "XL")
KINDS = {"boundary": "boundary error rate", "type": "type error rate"}  # eq. 24


def analyze_results(results: Sequence[Result], folder: Path) -> Analysis:
    """The analysis of recorded runs on one corpus: the first run of each variant."""
    if not results:
        raise InputError("no result is recorded to analyze; run the suite without --recorded.")
    first = {result["variant"]: result for result in reversed(results)}
    ordered = {name: first[name] for name in dict.fromkeys(result["variant"] for result in results)}
    data = _data(results[0])
    gold = [row.document for row in data.split(results[0]["split"])]
    systems = {name: read_predictions(predictions_path(folder, found), gold) for name, found in ordered.items()}
    if not any(document.relations for rows in systems.values() for document in rows):
        gold = [document.without_relations() for document in gold]  # of models without relations
    return analyze(gold, systems, train=[row.document for row in data.train], schema=data.schema)


def _data(result: Result) -> Selection:
    recipe = Recipe.parse(result["recipe"], warns=False)
    return select(recipe.data, seed=result["seed"])


def from_predictions(exhibit: Exhibit, corpus: str, results: Sequence[Result], folder: Path) -> list[Element]:
    """The tables and charts of an exhibit that needs predictions."""
    found = analyze_results(results, folder)
    title = f"{exhibit.title}; {corpus} {results[0]['split']}"
    note = f"The paper: {exhibit.says}." if exhibit.says else ""
    systems = list(found.systems.values())
    if exhibit.shows == "attributes":
        return _attributes(title, note, systems)
    if exhibit.shows == "errors":
        return _errors(title, note, systems)
    key = {"entity-length": "grouped_entity_length", "sentence-length": "grouped_sentence_length"}[exhibit.shows]
    tasks = {"entities": {system.name: system.breakdowns[key] for system in systems}}
    if exhibit.shows == "sentence-length" and all("RE+" in system.relations for system in systems):
        tasks["RE+"] = {system.name: system.relations["RE+"].breakdowns[key] for system in systems}
    return [element for task, rows in tasks.items() for element in _lengths(f"{title}, {task}", note, rows)]


def _lengths(title: str, note: str, breakdowns: Mapping[str, Breakdown]) -> list[Element]:
    """F1 with intervals by group, as a table and as bars."""
    groups = list(next(iter(breakdowns.values())).groups)
    name = next(iter(breakdowns.values())).title
    values = {system: [_f1(breakdown, group) for group in groups] for system, breakdown in breakdowns.items()}
    gold = [next(iter(breakdowns.values())).groups[group].gold for group in groups]
    rows = tuple(
        (group, gold[index], *(column[index] for column in values.values())) for index, group in enumerate(groups)
    )
    table = Table(title, (name, "gold", *values), rows, note)
    series = tuple(Series(system, tuple(column)) for system, column in values.items())
    return [table, Bars(title, tuple(groups), series, note, x_title=name)]


def _f1(breakdown: Breakdown, group: str) -> Interval | None:
    """F1 of a group in percent; None if it holds neither gold nor predictions."""
    found = breakdown.groups[group]
    if not found.gold + found.predicted:
        return None
    return Interval(100 * found.f1.value, 100 * found.f1.low, 100 * found.f1.high)


def _attributes(title: str, note: str, systems: Sequence[SystemAnalysis]) -> list[Element]:
    """F1 by bucket, and for each other system a heatmap of its differences to the first one (Table 6)."""
    keys = [key for key in ATTRIBUTES if key in systems[0].breakdowns]
    standard, *others = systems
    rows: list[tuple[Value | Interval, ...]] = []
    for key in keys:
        for group, found in standard.breakdowns[key].groups.items():
            name = f"{standard.breakdowns[key].title}: {group}"
            rows.append((name, found.gold, *(_f1(system.breakdowns[key], group) for system in systems)))
    table = Table(title, ("bucket", "gold", *(system.name for system in systems)), tuple(rows), note)
    return [table, *(_differences(title, note, keys, standard, other) for other in others)]


def _differences(
    title: str, note: str, keys: Sequence[str], standard: SystemAnalysis, other: SystemAnalysis
) -> Heatmap:
    values = tuple(tuple(_bucket_differences(standard.breakdowns[key], other.breakdowns[key])) for key in keys)
    return Heatmap(
        f"{title}: {other.name} − {standard.name}",
        tuple(standard.breakdowns[key].title for key in keys),
        SIZES,
        values,
        note,
        diverging=True,
    )


def _bucket_differences(standard: Breakdown, other: Breakdown) -> list[float | None]:
    """The difference of F1 in each bucket, for at most four buckets."""
    pairs = [(_f1(standard, group), _f1(other, group)) for group in standard.groups][: len(SIZES)]
    found = [None if one is None or two is None else two.value - one.value for one, two in pairs]
    return [*found, *[None] * (len(SIZES) - len(found))]


def _errors(title: str, note: str, systems: Sequence[SystemAnalysis]) -> list[Element]:
    """Counts and rates of boundary and type errors (eq. 24), and their differences to the first system (Table 7)."""
    rates = {system.name: [100 * system.errors.kinds[kind].rate for kind in KINDS] for system in systems}
    counts = {system.name: [system.errors.kinds[kind].count for kind in KINDS] for system in systems}
    errors = {system.name: system.errors.false_positives + system.errors.false_negatives for system in systems}
    header = (
        "system",
        "FP + FN",
        *(cell for kind, rate in KINDS.items() for cell in (f"{kind} errors", f"{rate} (%)")),
    )
    rows = tuple(
        (name, errors[name], *(cell for pair in zip(counts[name], rates[name], strict=True) for cell in pair))
        for name in rates
    )
    note = f"{note} A rate is a part of the system's own errors (FP + FN).".strip()
    standard, *others = rates
    differences = tuple(tuple(a - b for a, b in zip(rates[name], rates[standard], strict=True)) for name in others)
    heatmap = Heatmap(
        f"{title}: rates minus those of {standard}", tuple(others), tuple(KINDS.values()), differences, note, True
    )
    return [Table(title, header, rows, note), heatmap]
