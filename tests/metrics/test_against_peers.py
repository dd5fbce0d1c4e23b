"""Our scores equal those of seqeval on flat data and of nervaluate on nested data."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nervaluate import Evaluator
from seqeval.metrics import classification_report
from seqeval.scheme import IOB2

from spanwise.document import Document, Entity
from spanwise.metrics import Scores, score_boundaries, score_entities

LABELS = ("LOC", "ORG", "PER")
Span = tuple[int, int, str]


def document(length: int, spans: list[Span]) -> Document:
    return Document.from_words(["w"] * length, spans)


@st.composite
def flat_spans(draw: st.DrawFn, length: int) -> list[Span]:
    """Spans without overlap, adjacent ones included."""
    cuts = sorted(draw(st.sets(st.integers(0, length), max_size=8)))
    labels = [draw(st.sampled_from((None, *LABELS))) for _ in cuts[1:]]
    return [(a, b, label) for a, b, label in zip(cuts, cuts[1:], labels, strict=False) if label]


@st.composite
def nested_spans(draw: st.DrawFn, length: int) -> list[Span]:
    """Any spans: nested, crossing, one span with several labels; no duplicates, which nervaluate counts twice."""
    bounds = st.tuples(st.integers(0, length - 1), st.integers(1, 4), st.sampled_from(LABELS))
    return sorted(draw(st.sets(bounds.map(lambda b: (b[0], min(length, b[0] + b[1]), b[2])), max_size=8)))


@st.composite
def pairs(draw: st.DrawFn, spans) -> list[tuple[int, list[Span], list[Span]]]:
    """Texts with gold and predicted spans; predictions repeat some gold spans, so that many are right."""
    texts = []
    for length in draw(st.lists(st.integers(1, 12), min_size=1, max_size=5)):
        gold = draw(spans(length))
        texts.append((length, gold, gold if draw(st.booleans()) else draw(spans(length))))
    return texts


def tags(length: int, spans: list[Span]) -> list[str]:
    row = ["O"] * length
    for start, end, label in spans:
        row[start:end] = [f"B-{label}"] + [f"I-{label}"] * (end - start - 1)
    return row


def our_scores(texts: list[tuple[int, list[Span], list[Span]]]) -> Scores:
    gold = [document(length, spans) for length, spans, _ in texts]
    return score_entities(gold, [document(length, spans) for length, _, spans in texts])


def assert_same(ours, theirs: dict[str, float]) -> None:
    assert ours.precision == pytest.approx(theirs["precision"])
    assert ours.recall == pytest.approx(theirs["recall"])
    assert ours.f1 == pytest.approx(theirs["f1-score"])


@settings(max_examples=150, deadline=None)
@given(pairs(flat_spans))
def test_flat_scores_equal_seqeval(texts):
    """seqeval averages macro over gold and predicted types, we over gold types: equal if both are the same."""
    ours = our_scores(texts)
    gold, predicted = ([tags(row[0], row[side]) for row in texts] for side in (1, 2))
    if not ours.micro.gold + ours.micro.predicted:
        return  # seqeval cannot report on nothing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = classification_report(gold, predicted, mode="strict", scheme=IOB2, output_dict=True, zero_division=0)
    assert_same(ours.micro, theirs["micro avg"])
    for label, score in ours.labels.items():
        assert_same(score, theirs[label])
    if all(score.gold for score in ours.labels.values()):
        assert_same(ours.macro, theirs["macro avg"])


@settings(max_examples=150, deadline=None)
@given(pairs(nested_spans))
def test_nested_scores_equal_nervaluate(texts):
    """nervaluate lets a wrong prediction use up the gold entity it overlaps before a right one comes to claim it.

    That order dependence is only defined away when the right predictions come first, so that is how they are given.
    """
    ours = our_scores(texts)
    gold = [_dicts(spans) for _, spans, _ in texts]
    predicted = [_dicts(sorted(found, key=lambda span: span not in wanted)) for _, wanted, found in texts]
    theirs = Evaluator(gold, predicted, tags=list(LABELS), loader="dict").evaluate()
    for score, result in [(ours.micro, theirs["overall"]["strict"])] + [
        (score, theirs["entities"][label]["strict"]) for label, score in ours.labels.items()
    ]:
        assert (score.gold, score.predicted, score.correct) == (result.possible, result.actual, result.correct)
        assert_same(score, {"precision": result.precision, "recall": result.recall, "f1-score": result.f1})


@st.composite
def unlike_spans(draw: st.DrawFn, length: int) -> list[Span]:
    """Nested and crossing spans, but none with two labels, which nervaluate counts twice."""
    return list({span[:2]: span for span in draw(nested_spans(length))}.values())


@settings(max_examples=150, deadline=None)
@given(pairs(unlike_spans))
def test_boundaries_equal_nervaluates_exact_scores(texts):
    """The right predictions come first here as well."""
    gold, found = ([document(row[0], row[side]) for row in texts] for side in (1, 2))
    ours = score_boundaries(gold, found)
    ends = [{span[:2] for span in wanted} for _, wanted, _ in texts]
    predicted = [
        _dicts(sorted(found, key=lambda span, right=right: span[:2] not in right))
        for (_, _, found), right in zip(texts, ends, strict=True)
    ]
    gold_dicts = [_dicts(spans) for _, spans, _ in texts]
    theirs = Evaluator(gold_dicts, predicted, tags=list(LABELS), loader="dict").evaluate()["overall"]["exact"]
    assert (ours.gold, ours.predicted, ours.correct) == (theirs.possible, theirs.actual, theirs.correct)
    assert_same(ours, {"precision": theirs.precision, "recall": theirs.recall, "f1-score": theirs.f1})


def _dicts(spans: list[Span]) -> list[dict[str, int | str]]:
    return [{"start": start, "end": end, "label": label} for start, end, label in spans]


@settings(max_examples=100, deadline=None)
@given(pairs(nested_spans), st.randoms(use_true_random=False))
def test_order_and_duplicates_do_not_change_the_scores(texts, random):
    gold = [document(length, spans) for length, spans, _ in texts]
    predicted = [document(length, spans) for length, _, spans in texts]

    def disturbed(row: Document) -> Document:
        entities = [*row.entities, *(Entity(e.start, e.end, e.label, 0.5) for e in row.entities)]
        return row.with_annotations(random.sample(entities, len(entities)))

    assert score_entities(map(disturbed, gold), map(disturbed, predicted)) == score_entities(gold, predicted)
