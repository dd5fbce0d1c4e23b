"""Heuristic decoding: of spans that overlap the most probable is kept, in each example by itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import bl_ner_oracle as paper
from spanwise.decoding.overlaps import filter_overlaps, non_overlapping_rows
from spanwise.seam.decoder import (
    PredictedRelations,
    PredictedSpans,
    ScoredSpan,
    to_predictions,
)


@st.composite
def scored_spans(draw: st.DrawFn) -> list[ScoredSpan]:
    """Spans of different probability in a sentence of twelve words."""
    bounds = st.tuples(st.integers(0, 11), st.integers(1, 12)).filter(lambda b: b[0] < b[1])
    spans = draw(st.lists(bounds, max_size=15))
    scores = draw(st.permutations([rank / 20 for rank in range(1, len(spans) + 1)]))
    return [ScoredSpan(*span, draw(st.integers(0, 2)), score) for span, score in zip(spans, scores, strict=True)]


@given(scored_spans())
def test_overlaps_are_settled_by_the_papers_heuristic(spans: list[ScoredSpan]) -> None:
    assert filter_overlaps(spans) == paper.heuristic([tuple(span) for span in spans])


def overlap(one: ScoredSpan, other: ScoredSpan) -> bool:
    return one.start < other.end and other.start < one.end


@given(scored_spans())
def test_what_is_dropped_overlaps_something_more_probable_that_is_kept(spans: list[ScoredSpan]) -> None:
    kept = filter_overlaps(spans)
    assert not any(overlap(one, other) for i, one in enumerate(kept) for other in kept[i + 1 :])
    assert all(any(overlap(s, k) and k.score > s.score for k in kept) for s in spans if s not in kept)


def test_equal_probabilities_are_settled_the_same_way_in_any_order() -> None:
    spans = [ScoredSpan(0, 2, 0, 0.5), ScoredSpan(1, 3, 0, 0.5), ScoredSpan(2, 4, 1, 0.5)]
    assert filter_overlaps(spans) == filter_overlaps(spans[::-1]) == [spans[0], spans[2]]


def test_no_spans_leave_none() -> None:
    assert filter_overlaps([]) == []


class Spans(NamedTuple):
    """Spans of several examples, in any order, with many equal scores."""

    rows: list[tuple[int, int, int, int, float]]  # example, start, end, label, score

    def found(self) -> PredictedSpans:
        columns = np.array(self.rows).reshape(-1, 5)
        return PredictedSpans(
            columns[:, :3].astype(np.int64), columns[:, 3].astype(np.int64), columns[:, 4].astype(np.float32)
        )


@st.composite
def any_spans(draw: st.DrawFn) -> Spans:
    bounds = st.tuples(st.integers(0, 5), st.integers(1, 6)).filter(lambda b: b[0] < b[1])
    span = st.tuples(st.integers(0, 2), bounds, st.integers(0, 2))
    drawn = draw(st.lists(span, max_size=14, unique=True))
    scores = st.sampled_from([0.25, 0.5, 0.75])
    return Spans([(row, *edges, label, draw(scores)) for row, edges, label in drawn])


@given(any_spans(), st.booleans())
def test_rows_that_are_kept_are_those_of_a_greedy_loop(spans: Spans, shared: bool) -> None:
    """Most probable first, then by bounds and label; with `shared`, labels on the same bounds do not compete."""
    kept: list[int] = []
    order = sorted(range(len(spans.rows)), key=lambda at: (-spans.rows[at][4], *spans.rows[at][1:4]))
    for at in order:
        example, start, end, *_ = spans.rows[at]
        rivals = [spans.rows[other] for other in kept if spans.rows[other][0] == example]
        crossing = [r for r in rivals if r[1] < end and start < r[2]]
        if all(shared and (r[1], r[2]) == (start, end) for r in crossing):
            kept.append(at)
    found = non_overlapping_rows(spans.found(), shared=shared).tolist()
    assert found == sorted(kept, key=lambda at: spans.rows[at][:4])


def test_labels_on_one_span_stay_together_and_win_or_lose_as_their_best() -> None:
    """(0, 2) with 0.9 and 0.2 drops (1, 3) with 0.5, although one of its labels is less probable."""
    spans = [ScoredSpan(0, 2, 0, 0.9), ScoredSpan(0, 2, 1, 0.2), ScoredSpan(1, 3, 0, 0.5), ScoredSpan(4, 5, 2, 0.1)]
    assert filter_overlaps(spans, shared=True) == [spans[0], spans[1], spans[3]]
    assert filter_overlaps(spans) == [spans[0], spans[3]]


def test_predictions_are_one_per_example_and_relations_name_the_spans_of_their_own() -> None:
    spans = np.array([[0, 0, 1], [2, 0, 1], [2, 3, 4]])
    found = PredictedSpans(spans, np.array([0, 1, 2]), np.full(3, 0.5, np.float32))
    linked = PredictedRelations(np.array([[2, 1]]), np.array([0]), np.array([0.75], np.float32))
    predictions = to_predictions(found, 4, linked)
    assert [[span[:3] for span in p.spans] for p in predictions] == [[(0, 1, 0)], [], [(0, 1, 1), (3, 4, 2)], []]
    assert [p.relations for p in predictions] == [(), (), ((1, 0, 0, 0.75),), ()]
