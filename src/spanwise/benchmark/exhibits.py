"""What a table or figure of a paper shows: elements made of recorded results, with the paper's values beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from spanwise import corpora
from spanwise.benchmark.papers import FROM_PREDICTIONS, Exhibit
from spanwise.benchmark.results import Result
from spanwise.benchmark.suite import Suite, base
from spanwise.benchmark.table import get_path, summarize
from spanwise.errors import InputError
from spanwise.render.elements import Bars, Element, Heatmap, Lines, Scatter, Series, Table, Value

Grid = Mapping[str, Mapping[str, Value]]  # row, column, value


def show(exhibit: Exhibit, corpus: str, results: Sequence[Result], folder: Path) -> list[Element]:
    """The tables and charts of an exhibit on a corpus, from results in a folder that hold what it shows."""
    if exhibit.shows == "statistics":
        return [statistics(exhibit)]
    if not results:
        raise InputError(f"no result of {exhibit.title!r} on {corpus} is recorded; run it without --recorded.")
    if exhibit.shows in FROM_PREDICTIONS:
        from spanwise.benchmark.analyses import from_predictions

        return from_predictions(exhibit, corpus, results, folder)
    found = SHOWN[exhibit.shows](exhibit, corpus, results)
    return [replace(element, note=_note(element.note, exhibit, corpus)) for element in found]  # type: ignore[type-var]


def _note(note: str, exhibit: Exhibit, corpus: str) -> str:
    """A note, what the paper finds, and whose values it has if they are not of this corpus."""
    other = bool(exhibit.paper) and corpus != exhibit.corpora[0]
    source = f"The paper's values are for {exhibit.corpora[0]}." if other else ""
    return " ".join(filter(None, (note, source, f"The paper: {exhibit.says}." if exhibit.says else "")))


def grid_table(title: str, corner: str, grid: Grid, paper: Grid, *, note: str = "", digits: int = 2) -> Table:
    """Rows and columns of numbers; after a column that the paper has as well, a column of its values.

    Rows that only the paper has follow at the end.
    """
    columns = list(dict.fromkeys(column for row in (*grid.values(), *paper.values()) for column in row))
    published = [column for column in columns if any(column in row for row in paper.values())]
    header = [name for column in columns for name in (column, *([f"{column}, paper"] if column in published else []))]
    rows = {row: [] for row in (*grid, *(row for row in paper if row not in grid))}  # type: dict[str, list[Value]]
    for name, cells in rows.items():
        for column in columns:
            cells.append(grid.get(name, {}).get(column))
            if column in published:
                cells.append(paper.get(name, {}).get(column))
    return Table(title, (corner, *header), tuple((name, *cells) for name, cells in rows.items()), note, digits)


def _scores(exhibit: Exhibit, corpus: str, results: Sequence[Result]) -> list[Element]:
    """The table of the suite, and the chart that the paper has."""
    suite = Suite.load(exhibit.suite or "")
    summary = summarize(exhibit.suite or "", corpus, results)
    grid = {row.name: {"runs": row.runs, **_with_spread(row.mean, row.std)} for row in summary.rows}
    source = corpus if base(corpus) in suite.paper else exhibit.paper_corpus
    paper = {row.name: suite.figures(row.variant, source or corpus) for row in summary.rows}
    note = f"The paper's values are for {source}." if source not in (None, corpus) else ""
    table = grid_table(f"{exhibit.title}; {corpus} {suite.split}", "model", grid, paper, note=note)
    f1 = {row.variant: row.mean[suite.best_by] for row in summary.rows if suite.best_by in row.mean}
    return [table, *([_chart(exhibit, corpus, suite, f1)] if exhibit.chart else [])]


def _with_spread(means: Mapping[str, float], deviations: Mapping[str, float] | None) -> dict[str, Value]:
    """Each mean and, over several runs, its standard deviation in a column of its own."""
    spread = deviations or {}
    named = {column: {column: value, f"{column} ±": spread.get(column)} for column, value in means.items()}
    return {
        name: value for pair in named.values() for name, value in pair.items() if value is not None or name in means
    }


def _chart(exhibit: Exhibit, corpus: str, suite: Suite, f1: Mapping[str, float]) -> Element:
    """F1 of the variants as lines or bars; a variant's name holds the series and the category."""
    parts = {variant: variant.rpartition(exhibit.between) for variant in f1}
    series, categories = ([*dict.fromkeys(part[side] for part in parts.values())] for side in (0, 2))
    values = {(part[0], part[2]): f1[variant] for variant, part in parts.items()}
    drawn = tuple(Series(name, tuple(values.get((name, category)) for category in categories)) for name in series)
    title, y_title = f"{exhibit.title}; {corpus} {suite.split}", suite.best_by
    if exhibit.chart == "lines":
        return Lines(title, tuple(map(float, categories)), drawn, x_title=exhibit.x_title, y_title=y_title)
    flipped = tuple(Series(category, tuple(values.get((name, category)) for name in series)) for category in categories)
    return Bars(title, tuple(series), flipped, y_title=y_title)


def _groups(path: str, title: str) -> Callable[[Exhibit, str, Sequence[Result]], list[Element]]:
    """Mean F1 of each variant by the groups at a path of the results: labels, widths or nesting."""

    def shown(exhibit: Exhibit, corpus: str, results: Sequence[Result]) -> list[Element]:
        by_variant = _by_variant(results)
        groups = dict.fromkeys(group for result in results for group in get_path(result, path))
        gold = {group: _mean(results, f"{path}|{group}|gold") for group in groups}
        grid: dict[str, dict[str, Value]] = {
            group: {"gold": round(gold[group] or 0)}
            | {variant: _percent(_mean(found, f"{path}|{group}|f1")) for variant, found in by_variant.items()}
            for group in groups
        }
        name = f"{exhibit.title}; {corpus} {results[0]['split']}"
        table = grid_table(name, title, grid, exhibit.paper)
        series = tuple(
            Series(variant, tuple(_float(grid[group].get(variant)) for group in groups)) for variant in by_variant
        )
        return [table, Bars(name, tuple(groups), series, x_title=title)]

    return shown


def _cost(exhibit: Exhibit, corpus: str, results: Sequence[Result]) -> list[Element]:
    grid: dict[str, dict[str, Value]] = {
        variant: {
            "parameters (M)": found[-1]["parameters"] / 1e6,
            "epochs": found[-1]["recipe"]["train"]["epochs"],
            "batch": found[-1]["recipe"]["train"]["batch_size"],
            "training (minutes)": mean(result["seconds"] for result in found) / 60,
        }
        for variant, found in _by_variant(results).items()
    }
    note = "Training ran beside other work on one thread; it is no measure of speed (docs/performance.md is)."
    return [grid_table(f"{exhibit.title}; {corpus}", "model", grid, exhibit.paper, note=note)]


def _recorded_table(key: str, digits: int) -> Callable[[Exhibit, str, Sequence[Result]], list[Element]]:
    """A table of a model's representations: one column per variant."""

    def shown(exhibit: Exhibit, corpus: str, results: Sequence[Result]) -> list[Element]:
        by_variant = _by_variant(results).items()
        rows = results[0]["representations"][key]
        grid: dict[str, dict[str, Value]] = {
            row: {
                name: _mean_of([result["representations"][key][row] for result in found]) for name, found in by_variant
            }
            for row in rows
        }
        name = f"{exhibit.title}; {corpus} {results[0]['split']}"
        return [grid_table(name, "", grid, exhibit.paper, digits=digits)]

    return shown


def _plane(exhibit: Exhibit, corpus: str, results: Sequence[Result]) -> list[Element]:
    return [
        Scatter(
            f"{exhibit.title}; {variant}, {corpus} {found[0]['split']}",
            {
                label: tuple((x, y) for x, y in points)
                for label, points in found[0]["representations"]["points"].items()
            },
            x_title="first component",
            y_title="second component",
        )
        for variant, found in _by_variant(results).items()
    ]


def _attention(exhibit: Exhibit, corpus: str, results: Sequence[Result]) -> list[Element]:
    return [
        Heatmap(
            f"{exhibit.title}; {picture['label']}, trained on {corpus}",
            tuple(picture["words"]),
            tuple(picture["description"]),
            tuple(map(tuple, picture["weights"])),
            digits=2,
            row_title="word of the text",
            column_title="description",
        )
        for picture in results[0]["attention"]
    ]


def statistics(exhibit: Exhibit) -> Table:
    """Sentences, words, entities, nested entities and types of the splits of the corpora at hand."""
    from spanwise.inspection import inspect

    grid: dict[str, dict[str, Value]] = {}
    for name in exhibit.corpora:
        for split, found in inspect(corpora.load(name)).splits.items():
            grid[f"{name} {split}"] = {
                "sentences": found.documents,
                "words": found.words,
                "types": len(found.entity_types),
                "entities": found.entities,
                "nested": found.nested,
            }
    return grid_table(exhibit.title, "corpus", grid, exhibit.paper, digits=0)


SHOWN: Mapping[str, Callable[[Exhibit, str, Sequence[Result]], list[Element]]] = {
    "scores": _scores,
    "labels": _groups("entities.labels", "label"),
    "widths": _groups("widths", "words"),
    "nesting": _groups("nesting", "nesting"),
    "cost": _cost,
    "overlap": _recorded_table("overlap", 2),
    "classes": _recorded_table("classes", 2),
    "plane": _plane,
    "attention": _attention,
}


def _by_variant(results: Sequence[Result]) -> dict[str, list[Result]]:
    names = dict.fromkeys(result["variant"] for result in results)
    return {name: [result for result in results if result["variant"] == name] for name in names}


def _mean(results: Sequence[Result], path: str) -> float | None:
    """The mean over the results that have a value; group names may contain dots, so "|" separates them."""
    dotted, group, key = path.split("|")
    return _mean_of([found[group][key] for result in results if group in (found := get_path(result, dotted))])


def _mean_of(values: Sequence[float | None]) -> float | None:
    """The mean of the values that there are."""
    present = [value for value in values if value is not None]
    return mean(present) if present else None


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _float(value: Value) -> float | None:
    return value if isinstance(value, float) else None
