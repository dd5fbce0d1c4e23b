"""Spans from scores of candidates against loops over spans and labels: one label or several, flat or nested."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from invented_examples import PIECES, example
from spanwise.decoding.spans import (
    ScreeningScores,
    SpanDecoder,
    SpanRows,
    SpanScores,
    TwoStageSpanDecoder,
    select_spans,
)
from spanwise.pipeline.collate import collate
from spanwise.seam.batch import Array, Batch
from spanwise.seam.decoder import PredictedSpans, Prediction, ScoreThresholds
from spanwise.seam.proposals import Negatives, SpanProposer
from spanwise.seam.runner import StageOne, run_stages

LABELS = 3
Found = tuple[int, int, int, int, float]  # example, start, end, label, score


class Scored(NamedTuple):
    """Candidates grouped by example, their logits of None and the labels, and the lowest probabilities that count."""

    spans: Array
    logits: Array
    thresholds: ScoreThresholds

    def filter_labels(self) -> Array:
        return self.logits[:, 1:]


@st.composite
def scored(draw: st.DrawFn) -> Scored:
    bounds = st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(1, 6)).filter(lambda s: s[1] < s[2])
    spans = sorted(draw(st.lists(bounds, max_size=12, unique=True)), key=lambda span: span[0])
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    logits = draw(st.sampled_from([0.5, 3.0])) * rng.standard_normal((len(spans), 1 + LABELS))
    lowest = [draw(st.sampled_from([0.0, 0.2, 0.4, 0.6])) for _ in range(LABELS)]
    return Scored(
        np.array(spans, np.int64).reshape(-1, 3),
        logits.astype(np.float32),
        ScoreThresholds(np.array(lowest, np.float32), np.zeros(0, np.float32)),
    )


def exclusive(case: Scored) -> list[Found]:
    """The best class of each span, where it is a label and probable enough."""
    found = []
    for span, row in zip(case.spans.tolist(), case.logits.astype(float).tolist(), strict=True):
        powers = [math.exp(score) for score in row]
        best = max(range(len(row)), key=row.__getitem__)
        if best > 0 and powers[best] / sum(powers) >= case.thresholds.entities[best - 1]:
            found.append((*span, best - 1, powers[best] / sum(powers)))
    return found


def independent(case: Scored) -> list[Found]:
    """Every label of each span that is probable enough."""
    found = []
    for span, row in zip(case.spans.tolist(), case.filter_labels().astype(float).tolist(), strict=True):
        for label, score in enumerate(row):
            if 1 / (1 + math.exp(-score)) >= case.thresholds.entities[label]:
                found.append((*span, label, 1 / (1 + math.exp(-score))))
    return found


def flat(found: list[Found], *, shared: bool) -> list[Found]:
    """Most probable first, what overlaps it is dropped; with `shared`, other labels of the same span are not."""
    kept: list[Found] = []
    for one in sorted(found, key=lambda f: -f[4]):
        rivals = [k for k in kept if k[0] == one[0] and k[1] < one[2] and one[1] < k[2]]
        if all(shared and rival[1:3] == one[1:3] for rival in rivals):
            kept.append(one)
    return sorted(kept)


@given(scored(), st.booleans(), st.booleans())
def test_selected_spans_are_those_of_loops_over_spans_and_labels(case: Scored, nested: bool, multi_label: bool) -> None:
    logits = case.filter_labels() if multi_label else case.logits
    found = select_spans(logits, case.spans, case.thresholds.entities, nested=nested, multi_label=multi_label)
    wanted = independent(case) if multi_label else exclusive(case)
    wanted = wanted if nested else flat(wanted, shared=multi_label)
    rows = list(zip(map(tuple, found.spans.tolist()), found.labels.tolist(), strict=True))
    assert rows == [(one[:3], one[3]) for one in wanted]
    assert found.scores.tolist() == pytest.approx([one[4] for one in wanted], abs=1e-5)


@pytest.mark.parametrize("nested", [True, False])
def test_entities_are_spans_whose_best_class_is_a_label_and_probable_enough(nested: bool) -> None:
    spans = np.array([[0, 0, 1], [0, 0, 2], [0, 1, 2], [2, 0, 1]])
    chances = np.array([[0.6, 0.3, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8], [0.3, 0.5, 0.2]], np.float32)
    lowest = np.array([0.6, 0.0], np.float32)
    found = select_spans(np.log(chances), spans, lowest, nested=nested, multi_label=False)
    kept = [[0, 0, 2], [0, 1, 2]] if nested else [[0, 1, 2]]  # the last is not probable enough
    assert found.spans.tolist() == kept
    assert found.labels.tolist() == ([0, 1] if nested else [1])
    assert found.scores.tolist() == pytest.approx([0.7, 0.8] if nested else [0.8])


def test_flat_multi_label_keeps_labels_on_the_same_span_and_drops_overlapping_spans() -> None:
    spans = np.array([[0, 0, 2], [0, 1, 3], [0, 3, 4]])
    logits = np.array([[3.0, 1.0], [2.0, 2.0], [-1.0, 0.5]], np.float32)
    found = select_spans(logits, spans, np.full(2, 0.5, np.float32), nested=False, multi_label=True)
    assert found.spans.tolist() == [[0, 0, 2], [0, 0, 2], [0, 3, 4]]
    assert found.labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize("multi_label", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_no_candidates_give_no_spans(nested: bool, multi_label: bool) -> None:
    none = np.zeros((0, LABELS + (not multi_label)), np.float32), np.zeros((0, 3), np.int64), np.zeros(LABELS)
    assert len(select_spans(*none, nested=nested, multi_label=multi_label).spans) == 0


def batch_of(lengths: list[int]) -> Batch[Array]:
    """All spans of sentences of up to six words."""
    return collate([example([1] * length) for length in lengths], PIECES, SpanProposer(6, Negatives(1)))


class Recorded:
    """A runner that gives fixed screening scores, and logits by the row of the batch's span; it counts its calls."""

    def __init__(self, screening: Array, logits: Array, spans: Array) -> None:
        self.screening, self.logits = screening, logits
        self.place = {tuple(span): row for row, span in enumerate(spans.tolist())}
        self.asked: list[int] = []

    def forward(self, batch: Batch[Array]) -> StageOne:
        return StageOne(ScreeningScores(self.screening), "features")

    def rescore(self, features: object, rows: Any) -> Any:
        assert features == "features"
        self.asked.append(len(rows.spans))
        return SpanScores(self.logits[[self.place[tuple(span)] for span in rows.spans.tolist()]])


ANY = ScoreThresholds(np.zeros(LABELS, np.float32), np.zeros(0, np.float32))


def spans_of(predictions: list[Prediction]) -> list[list[tuple[int, ...]]]:
    return [[span[:3] for span in prediction.spans] for prediction in predictions]


@pytest.mark.parametrize("multi_label", [False, True])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("screening", [None, 0.3, 0.5])
def test_two_stages_find_what_one_finds_among_the_spans_that_pass(
    screening: float | None, nested: bool, multi_label: bool
) -> None:
    batch, rng = batch_of([6, 1, 4]), np.random.default_rng(1)
    spans = batch.proposals.spans
    logits = rng.standard_normal((len(spans), LABELS + (not multi_label))).astype(np.float32)
    scores = rng.standard_normal(len(spans)).astype(np.float32)
    passed = np.ones(len(spans), np.bool_) if screening is None else 1 / (1 + np.exp(-scores)) >= screening
    runner = Recorded(scores if screening is not None else np.zeros(0, np.float32), logits, spans)
    decoder = TwoStageSpanDecoder(nested, multi_label, screening)
    thresholds = ANY._replace(entities=np.full(LABELS, 0.5 if multi_label else 0.0, np.float32))
    found = run_stages(runner, decoder, batch, thresholds)
    assert runner.asked == [passed.sum()]
    assert screening is None or 0 < passed.sum() < len(spans)
    alone = select_spans(logits[passed], spans[passed], thresholds.entities, nested=nested, multi_label=multi_label)
    wanted: list[list[tuple[int, ...]]] = [[], [], []]
    for (row, *bounds), label in zip(alone.spans.tolist(), alone.labels.tolist(), strict=True):
        wanted[row].append((*bounds, label))
    assert spans_of(found) == wanted
    assert sum(map(len, wanted)) > 1


def test_where_no_span_passes_stage_two_is_never_asked() -> None:
    batch = batch_of([3, 2])
    runner = Recorded(np.full(9, -5.0, np.float32), np.zeros((9, 4), np.float32), batch.proposals.spans)
    assert spans_of(run_stages(runner, TwoStageSpanDecoder(True, False, 0.5), batch, ANY)) == [[], []]
    assert runner.asked == []


GIVEN = PredictedSpans(np.array([[0, 0, 2], [0, 1, 3], [1, 0, 1]]), np.array([2, 0, 1]), np.ones(3, np.float32))


@pytest.mark.parametrize(
    "decoder", [SpanDecoder(nested=False), TwoStageSpanDecoder(nested=False)], ids=lambda d: d.kind
)
def test_given_entities_are_predicted_in_place_of_found_ones(decoder: Any) -> None:
    """Also where they overlap."""
    batch = batch_of([3, 2])
    count = len(batch.proposals.spans)
    logits = np.random.default_rng(0).standard_normal((count, 4)).astype(np.float32)
    first = SpanScores(logits) if isinstance(decoder, SpanDecoder) else ScreeningScores(np.zeros(0, np.float32))
    for entities in (GIVEN, PredictedSpans.empty()):
        proposal = decoder.propose(first, batch, ANY, given=entities)
        rows = ((row, SpanScores(logits[: len(row.spans)])) for row in proposal.rows)
        found = decoder.decode(proposal, rows, batch, ANY)
        assert spans_of(found) == ([[(0, 2, 2), (1, 3, 0)], [(0, 1, 1)]] if len(entities.spans) else [[], []])


def test_rows_of_stage_two_are_the_batchs_own_spans() -> None:
    batch = batch_of([2])
    proposal = TwoStageSpanDecoder(nested=True).propose(ScreeningScores(np.zeros(0, np.float32)), batch, ANY)
    (rows,) = proposal.rows
    assert isinstance(rows, SpanRows)
    assert rows.spans.tolist() == batch.proposals.spans.tolist()
