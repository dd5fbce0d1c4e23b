"""The part of the report that compares systems: differences to the first system, tests, disagreements."""

from __future__ import annotations

from collections.abc import Iterator

from spanwise.analysis.bootstrap import Estimate
from spanwise.analysis.cells import Cell, has_items, percent
from spanwise.analysis.comparison import Comparison, Disagreement
from spanwise.analysis.results import Analysis, Breakdown, SystemAnalysis
from spanwise.plural import counted
from spanwise.render.elements import Element, Example, Examples, Heatmap, MarkedText, Section, Table

BUCKETS = (
    "entity_length",
    "sentence_length",
    "label_consistency",
    "entity_density",
    "oov_density",
    "span_length",
    "nesting",
)
RELATION_BUCKETS = ("distance", "grouped_entity_length", "grouped_sentence_length")
ALPHA = 0.05


def comparison_section(analysis: Analysis, comparison: Comparison) -> Section:
    """Scores side by side, heatmaps of differences as in BL-NER's Tables 6 and 7, tests, disagreements."""
    elements: list[Element] = [_score_table(analysis), _test_table(comparison)]
    elements += _bucket_heatmaps(analysis)
    elements.append(_error_heatmap(analysis))
    if comparison.disagreements:
        elements.append(_disagreement_examples(comparison))
    first = next(iter(analysis.systems))
    return Section(
        "comparison", "Comparison", tuple(elements), f"Heatmaps show differences to {first}, in percentage points."
    )


def _score_table(analysis: Analysis) -> Table:
    tasks = list(next(iter(analysis.systems.values())).relations)

    def row(one: SystemAnalysis) -> Iterator[Cell]:
        yield one.name
        yield percent(one.entities.strict.micro.f1)
        yield percent(one.entities.strict.macro.f1)
        yield percent(one.entities.overlap.micro.f1)
        yield percent(one.entities.boundaries.f1)
        yield from (percent(one.relations[task].scores.micro.f1) for task in tasks)

    header = (
        "system",
        "strict micro F1",
        "strict macro F1",
        "overlap F1",
        "boundaries F1",
        *(f"{t} F1" for t in tasks),
    )
    return Table("Scores of the systems", header, tuple(tuple(row(one)) for one in analysis.systems.values()))


def _test_table(comparison: Comparison) -> Table:
    rows = tuple(
        (test.task, test.first, test.second, 100 * test.difference, f"{test.p:.4f}", "yes" if test.p < ALPHA else "no")
        for test in comparison.tests
    )
    trials = max((test.trials for test in comparison.tests), default=0)
    note = (
        f"Paired approximate randomization over documents, two-sided, {trials:,} trials. Difference: F1 of the first "
        f"system minus F1 of the second. p-values are not corrected for the number of tests."
    )
    return Table("Significance", ("task", "first", "second", "difference", "p", f"p < {ALPHA}"), rows, note)


def _bucket_heatmaps(analysis: Analysis) -> Iterator[Heatmap]:
    for prefix, found in _compared(analysis):
        first = next(iter(found.values()))
        columns = [name for name in first.groups if any(has_items(one.groups[name]) for one in found.values())]
        values = tuple(
            tuple(_difference(one.groups[name], first.groups[name]) for name in columns) for one in found.values()
        )
        yield Heatmap(
            f"{prefix}Difference in F1 by {first.title}",
            tuple(found),
            tuple(columns),
            values,
            diverging=True,
            row_title="system",
            column_title=first.title,
        )


def _compared(analysis: Analysis) -> Iterator[tuple[str, dict[str, Breakdown]]]:
    """The breakdowns of all systems: of entities, then of relations by RE+."""
    systems = analysis.systems
    for key in BUCKETS:
        if found := {name: one.breakdowns[key] for name, one in systems.items() if key in one.breakdowns}:
            yield "", found
    for key in RELATION_BUCKETS if analysis.relation_labels else ():
        yield "RE+: ", {name: one.relations["RE+"].breakdowns[key] for name, one in systems.items()}


def _difference(one: Estimate, first: Estimate) -> float | None:
    return 100 * (one.f1.value - first.f1.value) if has_items(one) and has_items(first) else None


def _error_heatmap(analysis: Analysis) -> Heatmap:
    first = next(iter(analysis.systems.values())).errors.kinds
    values = tuple(
        tuple(100 * (one.errors.kinds[kind].rate - first[kind].rate) for kind in first)
        for one in analysis.systems.values()
    )
    return Heatmap(
        "Difference in error rate by kind",
        tuple(analysis.systems),
        tuple(first),
        values,
        "Rate: errors / (FP + FN), eq. 24 of BL-NER. A positive difference means that a larger part of the system's "
        "own errors is of this kind; the counts are under the kinds of errors.",
        diverging=True,
        row_title="system",
        column_title="kind",
    )


def _disagreement_examples(comparison: Comparison) -> Examples:
    shown = len(comparison.disagreements)
    return Examples(
        "Sentences on which the systems disagree",
        tuple(_example(one) for one in comparison.disagreements),
        f"The {shown} with the most differences, of {counted(comparison.disagreeing_sentences, 'sentence')}.",
    )


def _example(one: Disagreement) -> Example:
    texts = (MarkedText("gold", one.gold), *(MarkedText(name, found) for name, found in one.predicted.items()))
    title = f"{one.document}: {counted(one.differences, 'entity', 'entities')} not predicted by all systems"
    return Example(title, texts)
