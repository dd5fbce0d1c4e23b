"""What holds for any gold and predictions: sums, peers' scores, and the scorers of `spanwise.metrics`."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nervaluate import Evaluator
from seqeval.metrics import classification_report
from seqeval.scheme import IOB2

from spanwise.analysis import analyze
from spanwise.analysis.results import SystemAnalysis
from spanwise.document import Document, Entity, Relation
from spanwise.metrics import (
    score_boundaries,
    score_by_nesting,
    score_by_width,
    score_entities,
    score_relations,
)
from spanwise.schema import RelationType, Schema

LABELS = ("LOC", "ORG", "PER")
WORDS = ("a", "bb", "ccc", "dd")
Span = tuple[int, int, str]
Text = tuple[int, list[Span], list[Span]]
SCHEMA = Schema((), (RelationType("near", symmetric=True), RelationType("of")))


@st.composite
def flat_spans(draw: st.DrawFn, length: int) -> list[Span]:
    cuts = sorted(draw(st.sets(st.integers(0, length), max_size=8)))
    labels = [draw(st.sampled_from((None, *LABELS))) for _ in cuts[1:]]
    return [(a, b, label) for a, b, label in zip(cuts, cuts[1:], labels, strict=False) if label]


@st.composite
def any_spans(draw: st.DrawFn, length: int) -> list[Span]:
    """Nested, crossing, with several labels, and repeated."""
    bounds = st.tuples(st.integers(0, length - 1), st.integers(1, 4), st.sampled_from(LABELS))
    return draw(st.lists(bounds.map(lambda b: (b[0], min(length, b[0] + b[1]), b[2])), max_size=8))


@st.composite
def texts(draw: st.DrawFn, spans) -> list[Text]:
    """Gold and predicted spans; some predictions are right."""
    found = []
    for length in draw(st.lists(st.integers(1, 12), min_size=1, max_size=5)):
        gold = draw(spans(length))
        found.append((length, gold, gold if draw(st.booleans()) else draw(spans(length))))
    return found


def document(length: int, spans: list[Span]) -> Document:
    return Document.from_words([WORDS[index % len(WORDS)] for index in range(length)], spans)


def related(document: Document, data: st.DataObject) -> Document:
    """The document with random relations between its entities, and random scores."""
    entities = [
        Entity(e.start, e.end, e.label, data.draw(st.sampled_from((0.3, 0.95, 1.0)))) for e in document.entities
    ]
    pairs = st.integers(0, max(0, len(entities) - 1))
    relation = st.builds(Relation, pairs, pairs, st.sampled_from(("near", "of")))
    relations = data.draw(st.lists(relation, max_size=4)) if entities else []
    return document.with_annotations(entities, relations)


def analyzed(rows: list[Text]) -> tuple[list[Document], list[Document], SystemAnalysis]:
    gold, found = ([document(row[0], row[side]) for row in rows] for side in (1, 2))
    return gold, found, analyze(gold, {"one": found}, train=gold, samples=20).systems["one"]


def count(score) -> tuple[int, int, int]:
    return score.gold, score.predicted, score.correct


@settings(max_examples=60, deadline=None)
@given(texts(flat_spans))
def test_strict_scores_equal_seqeval_on_flat_data(rows):
    _, _, system = analyzed(rows)
    strict = system.entities.strict
    if not strict.micro.gold + strict.micro.predicted:
        return  # seqeval cannot report on nothing
    gold, found = ([_tags(row[0], row[side]) for row in rows] for side in (1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = classification_report(gold, found, mode="strict", scheme=IOB2, output_dict=True, zero_division=0)
    for score, name in [(strict.micro, "micro avg"), *((score, label) for label, score in strict.labels.items())]:
        values = [score.precision.value, score.recall.value, score.f1.value]
        assert values == pytest.approx([theirs[name][key] for key in ("precision", "recall", "f1-score")])


def _tags(length: int, spans: list[Span]) -> list[str]:
    row = ["O"] * length
    for start, end, label in spans:
        row[start:end] = [f"B-{label}"] + [f"I-{label}"] * (end - start - 1)
    return row


@st.composite
def spaced_pairs(draw: st.DrawFn) -> list[Text]:
    """Three words per entity: the prediction covers one to three of them, so that it overlaps one gold entity only."""
    rows = []
    for number in draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)):
        gold, found = [], []
        for index in range(number):
            for spans in (gold, found):
                start, width = draw(st.sampled_from(((0, 1), (0, 2), (0, 3), (1, 1), (1, 2))))
                if draw(st.integers(0, 5)):
                    spans.append((3 * index + start, 3 * index + start + width, draw(st.sampled_from(LABELS))))
        rows.append((3 * number, gold, found))
    return rows


@settings(max_examples=60, deadline=None)
@given(spaced_pairs())
def test_scores_equal_nervaluate_if_entities_overlap_one_other_at_most(rows):
    """Its "strict" are our strict scores, its "ent_type" our overlap, its "exact" our boundaries."""
    _, _, system = analyzed(rows)
    gold, found = (
        [[{"start": a, "end": b - 1, "label": label} for a, b, label in row[side]] for row in rows] for side in (1, 2)
    )
    theirs = Evaluator(gold, found, tags=list(LABELS), loader="dict").evaluate()["overall"]
    entities = system.entities
    for ours, name in ((entities.strict.micro, "strict"), (entities.overlap.micro, "ent_type")):
        assert count(ours) == (theirs[name].possible, theirs[name].actual, theirs[name].correct)
    assert count(entities.boundaries) == (theirs["exact"].possible, theirs["exact"].actual, theirs["exact"].correct)


@settings(max_examples=100, deadline=None)
@given(texts(any_spans))
def test_scores_equal_those_of_the_metrics(rows):
    gold, found, system = analyzed(rows)
    ours, theirs = system.entities, score_entities(gold, found)
    assert {name: count(score) for name, score in ours.strict.labels.items()} == {
        name: count(score) for name, score in theirs.labels.items()
    }
    assert ours.strict.macro.f1.value == pytest.approx(theirs.macro.f1)
    assert count(ours.boundaries) == count(score_boundaries(gold, found))
    for key, scores in (("span_length", score_by_width(gold, found)), ("nesting", score_by_nesting(gold, found))):
        groups = system.breakdowns[key].groups
        assert {name: count(one) for name, one in groups.items() if one.gold or one.predicted} == {
            name: count(one) for name, one in scores.items()
        }


@settings(max_examples=100, deadline=None)
@given(texts(any_spans))
def test_every_error_has_one_kind(rows):
    _, _, system = analyzed(rows)
    errors, micro = system.errors, system.entities.strict.micro
    kinds = {kind: found.count for kind, found in errors.kinds.items()}
    pairs = kinds["boundary"] + kinds["type"] + kinds["both"]
    assert errors.false_positives == micro.predicted - micro.correct == pairs + kinds["spurious"]
    assert errors.false_negatives == micro.gold - micro.correct == pairs + kinds["missed"]
    if errors.false_positives + errors.false_negatives:
        assert sum(found.share for found in errors.kinds.values()) == pytest.approx(1)
    rows_of = errors.confusion.counts
    labels = errors.confusion.labels
    scores = system.entities.strict.labels
    assert [sum(row) for row in rows_of[:-1]] == [scores[label].gold for label in labels]
    assert [sum(column) for column in zip(*rows_of, strict=True)][:-1] == [scores[label].predicted for label in labels]


@settings(max_examples=60, deadline=None)
@given(texts(any_spans), st.sampled_from(("paper", "quantiles")))
def test_buckets_add_up_to_all_entities(rows, buckets):
    gold, found = ([document(row[0], row[side]) for row in rows] for side in (1, 2))
    system = analyze(gold, {"one": found}, train=found, buckets=buckets, samples=2).systems["one"]
    for breakdown in system.breakdowns.values():
        sums = [sum(values) for values in zip(*map(count, breakdown.groups.values()), strict=True)]
        assert tuple(sums) == count(system.entities.strict.micro), breakdown.key


@settings(max_examples=100, deadline=None)
@given(texts(any_spans), st.data())
def test_relation_errors_add_up(rows, data):
    gold, found = ([related(document(row[0], row[side]), data) for row in rows] for side in (1, 2))
    relations = analyze(gold, {"one": found}, schema=SCHEMA, samples=2).systems["one"].relations
    theirs = score_relations(gold, found, symmetric=["near"])
    for task, scores in (("RE", theirs.boundaries), ("RE+", theirs.strict)) if relations else ():
        ours, errors = relations[task], relations[task].errors
        assert count(ours.scores.micro) == count(scores.micro)
        assert {name: count(one) for name, one in ours.scores.labels.items()} == {
            name: count(one) for name, one in scores.labels.items()
        }
        assert errors.false_positives == scores.micro.predicted - scores.micro.correct
        pairs = errors.type + errors.direction
        assert errors.false_negatives == errors.inherited_missing + pairs + errors.missing
        assert errors.false_positives == errors.inherited_spurious + pairs + errors.spurious
        for breakdown in ours.breakdowns.values():
            sums = [sum(values) for values in zip(*map(count, breakdown.groups.values()), strict=True)]
            assert tuple(sums) == count(scores.micro), breakdown.key


@settings(max_examples=60, deadline=None)
@given(texts(any_spans), st.data())
def test_calibration_bins_hold_every_prediction(rows, data):
    gold, found = ([related(document(row[0], row[side]), data) for row in rows] for side in (1, 2))
    system = analyze(gold, {"one": found}, samples=2).systems["one"]
    if (calibration := system.calibration) is None:
        best: dict[object, float] = {}  # of duplicates, the highest score counts
        for index, one in enumerate(found):
            for e in one.entities:
                key = (index, e.start, e.end, e.label)
                best[key] = max(e.score, best.get(key, 0))
        assert set(best.values()) <= {1.0}
        return
    assert sum(one.count for one in calibration.bins) == system.entities.strict.micro.predicted
    assert sum(one.count for one in calibration.labels.values()) == calibration.overall.count
    assert calibration.overall.expected <= calibration.overall.maximum <= 1


def test_intervals_contain_the_value_and_shrink_with_more_documents():
    gold, found = [], []
    for index in range(400):
        spans = [(0, 1, "PER"), (2, 4, "ORG")]
        gold.append(document(6, spans))
        found.append(document(6, spans[: 1 + index % 2] if index % 3 else [(0, 2, "PER")]))
    widths = []
    for number in (40, 400):
        entities = analyze(gold[:number], {"one": found[:number]}).systems["one"].entities
        for score in (entities.strict.micro, entities.strict.macro, *entities.strict.labels.values()):
            for one in (score.precision, score.recall, score.f1):
                assert one.low <= one.value <= one.high
        widths.append(entities.strict.micro.f1.high - entities.strict.micro.f1.low)
    assert widths[1] == pytest.approx(widths[0] / 10**0.5, rel=0.3)
