"""Candidate spans: all up to a width, and negatives that are never gold, never twice, and drawn evenly."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.nn.candidates import Spans, all_spans, sample_negatives


def looped(length: int, max_width: int) -> list[tuple[int, int]]:
    return [(i, i + width) for i in range(length) for width in range(1, max_width + 1) if i + width <= length]


def pairs(spans: Spans) -> list[tuple[int, int]]:
    return [(start, end) for start, end in spans.tolist()]


@given(st.integers(1, 30), st.integers(1, 35))
def test_all_spans_are_those_of_two_loops(length: int, max_width: int) -> None:
    assert pairs(all_spans(length, max_width)) == looped(length, max_width)


@given(st.integers(10, 60))
def test_their_number_is_the_papers(n: int) -> None:
    width = 10  # BL-NER section 3.2.2
    assert len(all_spans(n, width)) == width * (2 * n - width + 1) // 2


def test_a_width_beyond_the_sentence_costs_no_memory() -> None:
    tracemalloc.start()
    spans = all_spans(100, 100_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(spans) == 100 * 101 // 2
    assert peak < 2**20


def test_spans_that_are_shared_between_calls_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        all_spans(4, 2)[0, 0] = 9


@st.composite
def sentences(draw: st.DrawFn) -> tuple[int, int, Spans, int]:
    """A length, a width, gold spans (wider ones and doubles among them) and how many negatives are wanted."""
    length = draw(st.integers(1, 15))
    gold = draw(st.lists(st.sampled_from(looped(length, length)), max_size=6))
    return length, draw(st.integers(1, 17)), np.array(gold, np.int64).reshape(-1, 2), draw(st.integers(0, 120))


@given(sentences(), st.integers(0, 2**32))
def test_negatives_are_as_many_as_wanted_none_gold_and_none_twice(case: tuple[int, int, Spans, int], seed: int) -> None:
    length, max_width, gold, most = case
    drawn = pairs(sample_negatives(length, max_width, gold, most, np.random.default_rng(seed)))
    negative = set(looped(length, max_width)) - set(pairs(gold))
    assert len(drawn) == len(set(drawn)) == min(len(negative), most)  # eq. 20
    assert set(drawn) <= negative


@given(sentences(), st.integers(0, 2**32))
def test_the_same_generator_draws_the_same_negatives(case: tuple[int, int, Spans, int], seed: int) -> None:
    one, other = (sample_negatives(*case, np.random.default_rng(seed)) for _ in range(2))
    assert np.array_equal(one, other)


def test_every_negative_is_drawn_about_equally_often() -> None:
    gold, rng = np.array([[0, 2], [3, 4]]), np.random.default_rng(0)
    counts = dict.fromkeys(set(looped(8, 4)) - set(pairs(gold)), 0)
    rounds, most = 3000, 6
    for _ in range(rounds):
        for span in pairs(sample_negatives(8, 4, gold, most, rng)):
            counts[span] += 1
    expected = rounds * most / len(counts)
    assert max(abs(count - expected) for count in counts.values()) < 5 * expected**0.5


def test_successive_draws_differ() -> None:
    rng, none = np.random.default_rng(3), np.zeros((0, 2), np.int64)
    draws = {tuple(pairs(sample_negatives(20, 8, none, 10, rng))) for _ in range(5)}
    assert len(draws) == 5
