"""Candidate spans and pairs: all up to a width, and negatives that are never gold, never twice, and drawn evenly."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.nn.candidates import Spans, all_spans, sample_negatives, sample_pairs


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


Pair = tuple[tuple[int, int], tuple[int, int]]
TYPES = 2


@st.composite
def linked_sentences(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """Gold spans, some of them on the same words, and relations between any two of them."""
    spans = draw(st.lists(st.sampled_from(looped(5, 5)), max_size=6))
    rows = st.integers(0, max(len(spans) - 1, 0))
    links = draw(st.lists(st.tuples(rows, rows, st.integers(0, TYPES - 1)), max_size=5)) if spans else []
    return spans, links


def draw_pairs(
    spans: list[tuple[int, int]], links: list[tuple[int, int, int]], most: Callable[[int], int], seed: int = 0
) -> list[tuple[Pair, set[int]]]:
    """The pairs that are drawn, by the words of their spans, with the types they hold."""
    rows = np.array(spans, np.int64).reshape(-1, 2), np.array(links, np.int64).reshape(-1, 3)
    drawn, held = sample_pairs(*rows, TYPES, most, np.random.default_rng(seed))
    return [
        ((spans[head], spans[tail]), set(np.flatnonzero(types).tolist()))
        for (head, tail), types in zip(drawn.tolist(), held, strict=True)
    ]


@given(linked_sentences(), st.integers(0, 40), st.integers(0, 2**32))
def test_pairs_are_those_that_hold_a_relation_and_as_many_others_as_wanted(
    sentence: tuple[list[tuple[int, int]], list[tuple[int, int, int]]], most: int, seed: int
) -> None:
    spans, links = sentence
    gold: dict[Pair, set[int]] = {}
    for head, tail, kind in links:
        if spans[head] != spans[tail]:
            gold.setdefault((spans[head], spans[tail]), set()).add(kind)
    asked: list[int] = []

    def wanted(number: int) -> int:
        asked.append(number)
        return most

    drawn = draw_pairs(spans, links, wanted, seed)
    others = {(one, other) for one in spans for other in spans if one != other} - set(gold)
    assert [(pair, held) for pair, held in drawn if held] == sorted(gold.items())
    negatives = [pair for pair, held in drawn if not held]
    assert len(negatives) == len(set(negatives)) == min(most, len(others))
    assert set(negatives) <= others
    assert asked in ([], [len(gold)])  # none are asked for where there is no span


def test_two_labels_on_one_span_are_one_end_of_its_pairs() -> None:
    spans = [(0, 1), (3, 4), (0, 1)]
    drawn = draw_pairs(spans, [(0, 1, 0), (2, 1, 1)], lambda _: 10)
    assert drawn == [(((0, 1), (3, 4)), {0, 1}), (((3, 4), (0, 1)), set())]


def test_every_other_pair_is_drawn_about_equally_often() -> None:
    spans, rng = [(i, i + 1) for i in range(5)], np.random.default_rng(0)
    rows, links = np.array(spans), np.array([[0, 1, 0]])
    counts: dict[tuple[int, int], int] = {}
    rounds, most = 2000, 4
    for _ in range(rounds):
        for head, tail in sample_pairs(rows, links, TYPES, lambda _: most, rng)[0][1:].tolist():
            counts[head, tail] = counts.get((head, tail), 0) + 1
    expected = rounds * most / 19
    assert len(counts) == 19
    assert max(abs(count - expected) for count in counts.values()) < 5 * expected**0.5
