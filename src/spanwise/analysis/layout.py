"""From the numbers of an analysis to a report: tables, charts and examples, in percent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spanwise.analysis.calibration import Calibration, CalibrationError
from spanwise.analysis.cells import (
    SCORE_HEADER,
    Cell,
    breakdown_bars,
    breakdown_table,
    has_items,
    joined,
    score_cells,
    several,
    system_header,
    system_rows,
)
from spanwise.analysis.comparison_layout import comparison_section
from spanwise.analysis.errors import MISSED, SPURIOUS, Confusion, Errors, Mistake
from spanwise.analysis.results import Analysis, Breakdown, LabelScores, SystemAnalysis
from spanwise.analysis.suspicious import Suspicion
from spanwise.plural import counted
from spanwise.render.elements import (
    Bars,
    Element,
    Example,
    Examples,
    Heatmap,
    MarkedText,
    Reliability,
    Report,
    Section,
    Series,
    Table,
)

MAX_CONFUSED = 25  # labels of the confusion heatmap
MAX_SHOWN_SUSPICIOUS = 50
BREAKDOWN_SECTIONS = {
    "buckets": (
        "F1 by attribute",
        "Gold entities are grouped by their own attribute values, predictions by theirs (BL-NER, section 4.3.1).",
        ("entity_length", "sentence_length", "label_consistency", "entity_density", "oov_density"),
    ),
    "structure": (
        "F1 by span length and nesting",
        "DSpERT, sections 4.4 and 4.5: nested is inside a gold entity that contains another one, covering is around a "
        "gold entity that is inside another one.",
        ("span_length", "nesting"),
    ),
    "lengths": (
        "F1 by entity and sentence length",
        "The groups of STSN, section 4.3.",
        ("grouped_entity_length", "grouped_sentence_length"),
    ),
}


def report(analysis: Analysis, title: str = "Error analysis") -> Report:
    """The report of an analysis. Sections without content are left out."""
    sections = [
        _scores_section(analysis),
        *([comparison_section(analysis, analysis.comparison)] if analysis.comparison else []),
        _errors_section(analysis),
        *(_breakdown_section(analysis, key) for key in BREAKDOWN_SECTIONS),
        *_relation_sections(analysis),
        *_calibration_sections(analysis),
        *_suspicious_sections(analysis),
    ]
    return Report(title, tuple(sections), _facts(analysis))


def _facts(analysis: Analysis) -> dict[str, str]:
    facts = {
        "systems": joined(list(analysis.systems)),
        "documents": f"{analysis.documents:,}",
        "sentences": f"{analysis.sentences:,}",
        "words": f"{analysis.words:,}",
        "gold entities": f"{analysis.gold_entities:,}",
        "gold relations": f"{analysis.gold_relations:,}",
        "intervals": f"95 %, {counted(analysis.samples, 'bootstrap sample')} of the documents, seed {analysis.seed}",
    }
    return facts | ({"notes": " ".join(analysis.notes)} if analysis.notes else {})


def _scores_section(analysis: Analysis) -> Section:
    overview = Table(
        "Entities",
        system_header(analysis, "match", *SCORE_HEADER),
        system_rows(analysis, _overview_rows),
        "Strict: boundaries and label. Overlap: the label and at least one common character, one to one. Boundaries: "
        "without the label. Macro: mean over the labels that occur in gold.",
    )
    labels = _label_table(analysis, "Strict scores by label", {n: s.entities.strict for n, s in _systems(analysis)})
    partial = _label_table(analysis, "Overlap scores by label", {n: s.entities.overlap for n, s in _systems(analysis)})
    return Section("scores", "Scores", (overview, labels, partial))


def _overview_rows(one: SystemAnalysis) -> Iterator[tuple[Cell, ...]]:
    yield "strict, micro", *score_cells(one.entities.strict.micro)
    yield "strict, macro", *score_cells(one.entities.strict.macro)
    yield "overlap, micro", *score_cells(one.entities.overlap.micro)
    yield "boundaries", *score_cells(one.entities.boundaries)


def _label_table(analysis: Analysis, title: str, scores: Mapping[str, LabelScores]) -> Table:
    rows = system_rows(
        analysis,
        lambda one: ((label, *score_cells(score)) for label, score in scores[one.name].labels.items()),
    )
    return Table(title, system_header(analysis, "label", *SCORE_HEADER), rows)


def _systems(analysis: Analysis) -> list[tuple[str, SystemAnalysis]]:
    return list(analysis.systems.items())


def _named(analysis: Analysis, title: str, system: str) -> str:
    return f"{title}: {system}" if several(analysis) else title


def _errors_section(analysis: Analysis) -> Section:
    elements: list[Element] = [_kind_bars(analysis), _kind_table(analysis)]
    for name, one in analysis.systems.items():
        elements.append(_confusion_heatmap(_named(analysis, "Label confusion", name), one.errors.confusion))
        if one.errors.mistakes:
            elements.append(_mistake_examples(_named(analysis, "Frequent mistakes", name), name, one.errors))
    return Section(
        "errors",
        "Kinds of errors",
        tuple(elements),
        "Wrong predictions are paired with unmatched gold entities that they overlap, the best overlap first (BL-NER, "
        "section 4.3.2). Boundary: the same label, other boundaries. Type: the same boundaries, another label. Both: "
        "other boundaries and another label. Missed and spurious: without a pair.",
    )


def _kind_bars(analysis: Analysis) -> Bars:
    kinds = tuple(next(iter(analysis.systems.values())).errors.kinds)
    series = tuple(
        Series(name, tuple(100 * one.errors.kinds[kind].share for kind in kinds))
        for name, one in analysis.systems.items()
    )
    return Bars("Share of the errors by kind", kinds, series, y_title="share of FP and FN (%)")


def _kind_table(analysis: Analysis) -> Table:
    def rows(one: SystemAnalysis) -> Iterator[tuple[Cell, ...]]:
        for kind, found in one.errors.kinds.items():
            yield kind, found.count, 100 * found.rate, 100 * found.share
        total = one.errors.false_positives + one.errors.false_negatives
        yield "all (FP + FN)", total, None, 100.0 if total else None

    return Table(
        "Errors by kind",
        system_header(analysis, "kind", "count", "rate (%)", "share (%)"),
        system_rows(analysis, rows),
        "Rate: count / (FP + FN), eq. 24 of BL-NER, where a pair counts once. Share: false positives and false "
        "negatives of this kind / (FP + FN); the shares add up to 100.",
    )


def _confusion_heatmap(title: str, confusion: Confusion) -> Heatmap:
    """Percent of each gold label; of the spurious predictions, percent of them. Labels with the most errors only."""
    size = len(confusion.labels)
    counts = confusion.counts
    wrong = [sum(counts[i]) + sum(row[i] for row in counts) - 2 * counts[i][i] for i in range(size)]
    kept = [*sorted(sorted(range(size), key=lambda i: -wrong[i])[:MAX_CONFUSED]), size]
    names = [*confusion.labels, ""]
    note = "Percent of the row: gold labels in rows, predicted labels in columns. Boundary errors are on the diagonal."
    if size > MAX_CONFUSED:
        note += f" The {MAX_CONFUSED} labels with the most errors are shown."
    values = tuple(
        tuple(None if i == j == size or not sum(counts[i]) else 100 * counts[i][j] / sum(counts[i]) for j in kept)
        for i in kept
    )
    return Heatmap(
        title,
        tuple(names[i] or SPURIOUS for i in kept),
        tuple(names[j] or MISSED for j in kept),
        values,
        note,
        row_title="gold",
        column_title="predicted",
    )


def _mistake_examples(title: str, system: str, errors: Errors) -> Examples:
    examples = tuple(
        Example(
            _mistake_title(mistake),
            tuple(
                text
                for example in mistake.examples
                for text in (MarkedText("gold", example.gold), MarkedText(system, example.predicted))
            ),
            mistake.count,
        )
        for mistake in errors.mistakes
    )
    shown = f"The {len(examples)} most frequent of {counted(errors.different_mistakes, 'different mistake')}."
    return Examples(title, examples, shown)


def _mistake_title(mistake: Mistake) -> str:
    gold = f"{mistake.gold_text} [{mistake.gold_label}]"
    predicted = f"{mistake.predicted_text} [{mistake.predicted_label}]"
    if mistake.gold_text is None:
        return f"spurious: {predicted}"
    return f"missed: {gold}" if mistake.predicted_text is None else f"{mistake.kind}: {gold} → {predicted}"


def _breakdown_section(analysis: Analysis, key: str) -> Section:
    title, text, attributes = BREAKDOWN_SECTIONS[key]
    elements: list[Element] = []
    for attribute in attributes:
        found = {name: one.breakdowns[attribute] for name, one in _systems(analysis) if attribute in one.breakdowns}
        if found:
            elements += _breakdown_elements(analysis, found)
    return Section(key, title, tuple(elements), text)


def _breakdown_elements(analysis: Analysis, found: Mapping[str, Breakdown], prefix: str = "") -> list[Element]:
    heading = next(iter(found.values())).title
    title = f"{prefix}F1 by {heading}"
    return [breakdown_bars(title, found), breakdown_table(analysis, f"{prefix}Scores by {heading}", found)]


def _relation_sections(analysis: Analysis) -> Iterator[Section]:
    tasks = next(iter(analysis.systems.values())).relations
    if not tasks:
        return
    elements: list[Element] = [_relation_overview(analysis), _relation_error_table(analysis)]
    for task in tasks:
        scores = {name: one.relations[task].scores for name, one in _systems(analysis)}
        elements.append(_label_table(analysis, f"{task} by type", scores))
    for task, parts in tasks.items():
        for attribute in parts.breakdowns:
            found = {name: one.relations[task].breakdowns[attribute] for name, one in _systems(analysis)}
            if any(has_items(score) for one in found.values() for score in one.groups.values()):
                elements += _breakdown_elements(analysis, found, f"{task}: ")
    yield Section(
        "relations",
        "Relations",
        tuple(elements),
        "RE requires the label and the boundaries of both arguments, RE+ also the labels of both arguments. For a "
        "relation, the entity length is that of its longer argument.",
    )


def _relation_overview(analysis: Analysis) -> Table:
    def rows(one: SystemAnalysis) -> Iterator[tuple[Cell, ...]]:
        for task, found in one.relations.items():
            yield f"{task}, micro", *score_cells(found.scores.micro)
            yield f"{task}, macro", *score_cells(found.scores.macro)

    return Table("Relations", system_header(analysis, "match", *SCORE_HEADER), system_rows(analysis, rows))


def _relation_error_table(analysis: Analysis) -> Table:
    def rows(one: SystemAnalysis) -> Iterator[tuple[Cell, ...]]:
        for task, found in one.relations.items():
            e = found.errors
            total = e.false_positives + e.false_negatives
            share = 100 * e.inherited / total if total else None
            own = (e.type, e.direction, e.missing, e.spurious)
            yield task, total, e.inherited_missing, e.inherited_spurious, *own, share

    header = ("match", "FP + FN", "inherited, missing", "inherited, spurious", "own: type", "own: direction")
    return Table(
        "Errors of relations",
        system_header(analysis, *header, "own: missing", "own: spurious", "inherited (%)"),
        system_rows(analysis, rows),
        "Inherited: an argument of the missing relation was not predicted, or an argument of the wrong relation is not "
        "in gold. Own: both arguments are right. A type or direction error is a pair of a missing and a wrong relation "
        "and counts once.",
    )


def _calibration_sections(analysis: Analysis) -> Iterator[Section]:
    elements: list[Element] = []
    for name, one in analysis.systems.items():
        for what, found in (("entities", one.calibration), ("relations", one.relation_calibration)):
            if found is not None:
                elements += _calibration_elements(_named(analysis, f"Calibration of {what}", name), found)
    if elements:
        yield Section(
            "calibration",
            "Calibration",
            tuple(elements),
            "Predictions in ten bins of equal width by their score. The expected calibration error (ECE) is the mean "
            "distance between score and accuracy, weighted by count; the maximum (MCE) is the largest.",
        )


def _calibration_elements(title: str, found: Calibration) -> list[Element]:
    def row(name: str, error: CalibrationError) -> tuple[Cell, ...]:
        values = (error.expected, error.maximum, error.confidence, error.accuracy)
        return (name, *(100 * value for value in values), error.count)

    rows = (row("all", found.overall), *(row(label, error) for label, error in found.labels.items()))
    header = ("label", "ECE (%)", "MCE (%)", "mean score (%)", "correct (%)", "predicted")
    return [
        Reliability(title, found.bins, f"ECE {100 * found.overall.expected:.2f} %"),
        Table(f"{title}, by label", header, rows),
    ]


def _suspicious_sections(analysis: Analysis) -> Iterator[Section]:
    found = analysis.suspicious
    if not found.cases:
        return
    shown = found.cases[:MAX_SHOWN_SUSPICIOUS]
    examples = Examples(
        "Suspicious gold annotations",
        tuple(_suspicious_example(case) for case in shown),
        f"The first {len(shown)} of {counted(found.total, 'case')}, the most systems and the highest score first.",
    )
    yield Section(
        "suspicious",
        "Suspicious gold",
        (examples,),
        "Predictions that gold contradicts and that a system is most confident of: a score of 0.9 and more, else the "
        "tenth with the highest scores, and all of a system without scores. Some are errors of the annotation: review "
        "them.",
    )


def _suspicious_example(case: Suspicion) -> Example:
    predicted = f"{case.predicted.text} [{case.predicted.label}]"
    gold = f"{case.gold.text} [{case.gold.label}]" if case.gold else "no such entity"
    score = "" if case.confidence is None else f", score {case.confidence:.2f}"
    return Example(
        f"{case.kind}: gold has {gold}, predicted is {predicted}{score}",
        (MarkedText("gold", case.sentence), MarkedText(joined(case.systems), case.predicted_sentence)),
    )
