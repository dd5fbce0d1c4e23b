"""Starts and ends to spans: every pattern of seven words against the paper's machine, and no group sees another."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bl_ner_oracle
import matching_oracle as paper
from invented_examples import words_only
from spanwise.decoding import pointers
from spanwise.decoding.pointers import (
    Matches,
    Matching,
    MatchScores,
    PointerDecoder,
    PointerScores,
    match_all,
    match_heuristic,
    match_nearest,
)
from spanwise.seam.batch import Array, Batch, Floats
from spanwise.seam.decoder import PredictedSpans, Prediction, ScoreThresholds
from spanwise.seam.runner import StageOne, run_stages

Grid = list[list[float]]
Loop = Callable[[list[float], list[float]], list[paper.Ends]]
Rule = Callable[[Floats, Floats], Matches]
RULES: dict[str, tuple[Rule, Loop]] = {
    "heuristic": (match_heuristic, paper.algorithm_1),
    "nearest": (match_nearest, paper.nearest),
    "crossed": (match_all, paper.crossed),
}
HIGH, LOW = (0.6, 0.7, 0.8, 0.9), (0.1, 0.5)


def every_pattern(length: int) -> tuple[np.ndarray, np.ndarray]:
    """Which words are starts and which are ends, in all 4^length ways. -> [4^length, length] each"""
    numbers = np.arange(4**length)[:, None]
    bits = (numbers >> np.arange(2 * length)) & 1 == 1
    return bits[:, :length], bits[:, length:]


def chances(above: np.ndarray, seed: int | None) -> Floats:
    """Probabilities on the sides of one half that a pattern asks for; without a seed all of a side are equal."""
    if seed is None:
        return np.where(above, 0.6, 0.5).astype(np.float32)
    rng = np.random.default_rng(seed)
    return np.where(above, rng.choice(HIGH, above.shape), rng.choice(LOW, above.shape)).astype(np.float32)


def looped(loop: Loop, start: Floats, end: Floats) -> list[tuple[int, ...]]:
    """What a loop over each group by itself finds: group, first and last word."""
    rows = zip(start.tolist(), end.tolist(), strict=True)
    return [(group, *ends) for group, row in enumerate(rows) for ends in loop(*row)]


def found(rule: Rule, start: Floats, end: Floats) -> list[tuple[int, ...]]:
    first, last = rule(start, end)
    length = start.shape[1]
    assert (first // length == last // length).all()
    return list(zip((first // length).tolist(), (first % length).tolist(), (last % length).tolist(), strict=True))


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
@pytest.mark.parametrize("length", range(1, 8))
def test_heuristic_matching_is_algorithm_1_on_every_pattern(length: int, seed: int | None) -> None:
    """All patterns are groups of one call: were a group to see its neighbor, some would come out otherwise."""
    starts, ends = every_pattern(length)
    start, end = chances(starts, seed), chances(ends, None if seed is None else seed + 100)
    wanted = looped(paper.algorithm_1, start, end)
    assert len(wanted) >= 4**length / 4
    assert found(match_heuristic, start, end) == wanted


@pytest.mark.parametrize("rule", ["nearest", "crossed"])
@pytest.mark.parametrize("length", range(1, 7))
def test_nearest_and_crossed_matching_are_their_loops_on_every_pattern(length: int, rule: str) -> None:
    matching, loop = RULES[rule]
    starts, ends = every_pattern(length)
    start, end = chances(starts, 3), chances(ends, 4)
    wanted = looped(loop, start, end)
    assert len(wanted) >= 4**length / 4
    assert found(matching, start, end) == wanted


@st.composite
def grids(draw: st.DrawFn) -> tuple[Grid, Grid]:
    """Starts and ends of up to four groups of up to twelve words, with many that are equal."""
    length = draw(st.integers(1, 12))
    row = st.lists(st.sampled_from((*HIGH, *LOW, 0.0, 1.0)), min_size=length, max_size=length)
    count = draw(st.integers(1, 4))
    rows = st.lists(row, min_size=count, max_size=count)
    return draw(rows), draw(rows)


@given(grids(), st.sampled_from(sorted(RULES)))
def test_any_groups_match_as_in_the_loops(grid: tuple[Grid, Grid], rule: str) -> None:
    matching, loop = RULES[rule]
    start, end = (np.array(rows, np.float32) for rows in grid)
    assert found(matching, start, end) == looped(loop, start, end)


@given(grids())
def test_heuristic_spans_share_no_word_and_end_where_they_may(grid: tuple[Grid, Grid]) -> None:
    start, end = (np.array(rows, np.float32) for rows in grid)
    spans = found(match_heuristic, start, end)
    for group, first, last in spans:
        assert first <= last
        assert start[group, first] > 0.5 < end[group, last]
    for one, other in pairwise(spans):
        assert one[0] < other[0] or one[2] < other[1]


@pytest.mark.parametrize(
    ("start", "end", "spans"),
    [
        ([0.9], [0.9], [(0, 0)]),
        ([0.9, 0.8], [0.9, 0.8], [(0, 0), (1, 1)]),  # two spans of one word beside each other
        ([0.9, 0.1, 0.8, 0.1], [0.1, 0.9, 0.1, 0.9], [(0, 1), (2, 3)]),
        ([0.7, 0.9, 0.1], [0.1, 0.1, 0.9], [(1, 2)]),  # the more probable start
        ([0.9, 0.7, 0.1], [0.1, 0.1, 0.9], [(0, 2)]),
        ([0.9, 0.1, 0.1], [0.1, 0.7, 0.9], [(0, 2)]),  # the more probable end
        ([0.8, 0.8, 0.1, 0.1], [0.1, 0.1, 0.7, 0.7], [(0, 2)]),  # the first of equals
        ([0.9, 0.1, 0.8], [0.1, 0.6, 0.9], [(0, 1), (2, 2)]),  # the end of a word that starts a span is that span's
        ([0.9, 0.1, 0.8], [0.1, 0.6, 0.1], [(0, 1)]),  # a start without an end is nothing
        ([0.1, 0.9], [0.9, 0.1], []),  # nor is an end before all starts
        ([0.5, 0.9], [0.9, 0.5], []),  # one half is not above one half
    ],
    ids=str,
)
def test_heuristic_matching_by_hand(start: list[float], end: list[float], spans: list[paper.Ends]) -> None:
    assert paper.algorithm_1(start, end) == spans
    grid = (np.array([row], np.float32) for row in (start, end))
    assert [ends for _, *ends in found(match_heuristic, *grid)] == [list(span) for span in spans]


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize("shape", [(0, 4), (3, 1), (3, 4)], ids=str)
def test_where_nothing_starts_or_ends_nothing_is_found(rule: str, shape: tuple[int, int]) -> None:
    none, all_of_them = np.zeros(shape, np.float32), np.ones(shape, np.float32)
    for start, end in ((none, none), (all_of_them, none), (none, all_of_them)):
        assert found(RULES[rule][0], start, end) == []


LABELS, LENGTH = 3, 7
MATCHING: dict[Matching, Loop] = {
    "heuristic": paper.algorithm_1,
    "nearest": paper.nearest,
    "classifier": paper.crossed,
}


class Case(NamedTuple):
    """Logits of starts, ends and pairs of words, and which words are scored."""

    scored: list[list[bool]]
    start: Floats  # [B, T, C]
    end: Floats  # [B, T, C]
    match: Floats  # [B, C, T, T]
    lowest: Floats  # [C]

    def thresholds(self) -> ScoreThresholds:
        return ScoreThresholds(self.lowest, np.zeros(0, np.float32))

    def forward(self, batch: Batch[Array]) -> StageOne:
        return StageOne(PointerScores(self.start, self.end), ())

    def rescore(self, features: object, rows: Any) -> Any:
        return MatchScores(self.match.ravel()[rows.cells])


@st.composite
def cases(draw: st.DrawFn, scale: float = 2.0) -> Case:
    """Up to three examples with context before and behind their words."""
    count = draw(st.integers(1, 3))
    scored = []
    for _ in range(count):
        before = draw(st.integers(0, 2))
        words = draw(st.integers(1, LENGTH - before))
        scored.append([before <= word < before + words for word in range(LENGTH)])
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    start, end = (scale * rng.standard_normal((count, LENGTH, LABELS)).astype(np.float32) for _ in range(2))
    match = scale * rng.standard_normal((count, LABELS, LENGTH, LENGTH)).astype(np.float32)
    lowest = np.array([draw(st.sampled_from([0.0, 0.55, 0.7])) for _ in range(LABELS)], np.float32)
    return Case(scored, start, end, match, lowest)


def sigmoid(score: float) -> float:
    return 1 / (1 + math.exp(-score))


def by_loops(case: Case, matching: Matching, *, nested: bool) -> list[list[tuple[int, int, int, float]]]:
    """Word by word and label by label; words that are not scored are neither starts nor ends."""
    results = []
    for row, scored in enumerate(case.scored):
        spans: list[tuple[int, int, int, float]] = []
        for label in range(LABELS):
            start, end = (
                [sigmoid(float(logits[row, word, label])) if scored[word] else 0.0 for word in range(LENGTH)]
                for logits in (case.start, case.end)
            )
            for first, last in MATCHING[matching](start, end):
                score = min(start[first], end[last])
                if matching == "classifier":
                    joined = sigmoid(float(case.match[row, label, first, last]))
                    if joined <= 0.5:
                        continue
                    score = min(score, joined)
                if score >= case.lowest[label]:
                    spans.append((first, last + 1, label, score))
        results.append(sorted(spans) if nested else bl_ner_oracle.heuristic(spans))
    return results


@given(cases(), st.sampled_from(sorted(MATCHING)), st.booleans())
def test_predictions_are_those_of_loops_over_words_and_labels(case: Case, matching: Matching, nested: bool) -> None:
    decoder = PointerDecoder(nested, matching)
    predictions = run_stages(case, decoder, words_only(case.scored), case.thresholds())
    for prediction, wanted in zip(predictions, by_loops(case, matching, nested=nested), strict=True):
        spans = sorted(prediction.spans)
        assert [span[:3] for span in spans] == [span[:3] for span in wanted]
        assert [span.score for span in spans] == pytest.approx([span[3] for span in wanted], abs=1e-5)


@given(cases(scale=60.0), st.sampled_from(["heuristic", "nearest"]))
def test_flat_spans_never_overlap_and_lie_inside_the_scored_words(case: Case, matching: Matching) -> None:
    predictions = run_stages(case, PointerDecoder(False, matching), words_only(case.scored), case.thresholds())
    for prediction, scored in zip(predictions, case.scored, strict=True):
        words = [word for span in prediction.spans for word in range(span.start, span.end)]
        assert len(words) == len(set(words))
        assert all(scored[word] for word in words)


def test_nested_spans_of_one_label_may_lie_in_each_other() -> None:
    ones = np.full((1, 4, 1), 3.0, np.float32)
    case = Case([[True] * 4], ones, ones, np.full((1, 1, 4, 4), 2.0, np.float32), np.zeros(1, np.float32))
    (prediction,) = run_stages(case, PointerDecoder(True, "classifier"), words_only(case.scored), case.thresholds())
    assert [span[:2] for span in prediction.spans] == [(i, j) for i in range(4) for j in range(i + 1, 5)]


@pytest.mark.parametrize(("matching", "end"), [("heuristic", 3), ("nearest", 2)])
def test_a_start_takes_the_most_probable_end_or_the_nearest(matching: Matching, end: int) -> None:
    start, ends = (np.full((2, 4, 2), -9.0, np.float32) for _ in range(2))
    start[0, 0, 1], ends[0, 1, 1], ends[0, 2, 1] = 3.0, 1.0, 2.0
    case = Case([[True] * 4] * 2, start, ends, np.zeros(0, np.float32), np.zeros(2, np.float32))
    first, other = run_stages(case, PointerDecoder(False, matching), words_only(case.scored), case.thresholds())
    assert [span[:3] for span in first.spans] == [(0, end, 1)]
    assert other == Prediction()


@given(cases())
def test_matches_in_blocks_give_the_same_spans(case: Case) -> None:
    batch, decoder = words_only(case.scored), PointerDecoder(True, "classifier")
    whole = run_stages(case, decoder, batch, case.thresholds())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pointers, "CELL_BLOCK_SIZE", 2)
        proposal = decoder.propose(PointerScores(case.start, case.end), batch, case.thresholds())
        blocks = [len(rows.cells) for rows in proposal.rows]
        assert all(0 < size <= 2 for size in blocks)
        assert run_stages(case, decoder, batch, case.thresholds()) == whole


GIVEN = PredictedSpans(np.array([[0, 0, 2], [0, 1, 3]]), np.array([2, 0]), np.ones(2, np.float32))


@pytest.mark.parametrize("entities", [GIVEN, PredictedSpans.empty()], ids=["two", "none"])
@pytest.mark.parametrize("matching", sorted(MATCHING))
def test_given_entities_are_predicted_in_place_of_found_ones(matching: Matching, entities: PredictedSpans) -> None:
    """Also where they overlap; no classifier is asked about them."""
    ones = np.full((1, 4, 3), 3.0, np.float32)
    case = Case([[True] * 4], ones, ones, np.full((1, 3, 4, 4), 2.0, np.float32), np.zeros(3, np.float32))
    decoder = PointerDecoder(matching == "classifier", matching)
    (prediction,) = run_stages(case, decoder, words_only(case.scored), case.thresholds(), entities)
    assert [span[:3] for span in prediction.spans] == ([(0, 2, 2), (1, 3, 0)] if len(entities.spans) else [])
