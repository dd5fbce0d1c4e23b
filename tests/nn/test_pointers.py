"""Starts and ends to spans: every pattern of seven words against the paper's machine, and no group sees another."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import matching_oracle as paper
from spanwise.nn.pointers import Chances, Matches, crossed, heuristic, nearest, pointer_targets

Grid = list[list[float]]
Loop = Callable[[list[float], list[float]], list[paper.Ends]]
Matching = Callable[[Chances, Chances], Matches]
RULES: dict[str, tuple[Matching, Loop]] = {
    "heuristic": (heuristic, paper.algorithm_1),
    "nearest": (nearest, paper.nearest),
    "crossed": (crossed, paper.crossed),
}
HIGH, LOW = (0.6, 0.7, 0.8, 0.9), (0.1, 0.5)


def every_pattern(length: int) -> tuple[np.ndarray, np.ndarray]:
    """Which words are starts and which are ends, in all 4^length ways. -> [4^length, length] each"""
    numbers = np.arange(4**length)[:, None]
    bits = (numbers >> np.arange(2 * length)) & 1 == 1
    return bits[:, :length], bits[:, length:]


def chances(above: np.ndarray, seed: int | None) -> Chances:
    """Probabilities on the sides of one half that a pattern asks for; without a seed all of a side are equal."""
    if seed is None:
        return np.where(above, 0.6, 0.5).astype(np.float32)
    rng = np.random.default_rng(seed)
    return np.where(above, rng.choice(HIGH, above.shape), rng.choice(LOW, above.shape)).astype(np.float32)


def looped(loop: Loop, start: Chances, end: Chances) -> list[tuple[int, ...]]:
    """What a loop over each group by itself finds: group, first and last word."""
    rows = zip(start.tolist(), end.tolist(), strict=True)
    return [(group, *ends) for group, row in enumerate(rows) for ends in loop(*row)]


def found(matching: Matching, start: Chances, end: Chances) -> list[tuple[int, ...]]:
    first, last = matching(start, end)
    length = start.shape[1]
    assert (first // length == last // length).all()
    return list(zip((first // length).tolist(), (first % length).tolist(), (last % length).tolist(), strict=True))


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
@pytest.mark.parametrize("length", range(1, 8))
def test_heuristic_matching_is_algorithm_1_on_every_pattern(length: int, seed: int | None) -> None:
    """All patterns are groups of one call: were a group to see its neighbour, some would come out otherwise."""
    starts, ends = every_pattern(length)
    start, end = chances(starts, seed), chances(ends, None if seed is None else seed + 100)
    wanted = looped(paper.algorithm_1, start, end)
    assert len(wanted) >= 4**length / 4
    assert found(heuristic, start, end) == wanted


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
    spans = found(heuristic, start, end)
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
        ([0.7, 0.9, 0.1], [0.1, 0.1, 0.9], [(1, 2)]),  # the surer start
        ([0.9, 0.7, 0.1], [0.1, 0.1, 0.9], [(0, 2)]),
        ([0.9, 0.1, 0.1], [0.1, 0.7, 0.9], [(0, 2)]),  # the surer end
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
    assert [ends for _, *ends in found(heuristic, *grid)] == [list(span) for span in spans]


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize("shape", [(0, 4), (3, 1), (3, 4)], ids=str)
def test_where_nothing_starts_or_ends_nothing_is_found(rule: str, shape: tuple[int, int]) -> None:
    none, all_of_them = np.zeros(shape, np.float32), np.ones(shape, np.float32)
    for start, end in ((none, none), (all_of_them, none), (none, all_of_them)):
        assert found(RULES[rule][0], start, end) == []


gold_spans: Any = st.tuples(st.integers(0, 1), st.integers(0, 4), st.integers(1, 5), st.integers(0, 2))


@given(st.lists(gold_spans.filter(lambda span: span[1] < span[2]), max_size=8))
def test_targets_are_one_where_a_gold_span_of_the_label_starts_and_ends(gold: list[tuple[int, int, int, int]]) -> None:
    starts, ends = pointer_targets(torch.tensor(gold, dtype=torch.long).view(-1, 4), torch.Size((2, 5, 3)))
    assert {tuple(cell) for cell in starts.nonzero().tolist()} == {(row, start, label) for row, start, _, label in gold}
    assert {tuple(cell) for cell in ends.nonzero().tolist()} == {(row, end - 1, label) for row, _, end, label in gold}
    assert set(torch.cat((starts, ends)).flatten().tolist()) <= {0.0, 1.0}
