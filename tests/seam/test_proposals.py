"""Candidate spans and pairs: all up to a width, and negatives that are never gold, never twice, and sampled evenly."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from invented_examples import LABELS, example
from spanwise.seam.batch import Array, Ints, Proposals
from spanwise.seam.proposals import (
    ALL_NEGATIVES,
    Negatives,
    SpanProposer,
    all_spans,
    empty_proposals,
    sample_negatives,
    sample_pairs,
)
from spanwise.text.examples import Example


def looped(length: int, max_width: int) -> list[tuple[int, int]]:
    return [(i, i + width) for i in range(length) for width in range(1, max_width + 1) if i + width <= length]


def pairs(spans: Ints) -> list[tuple[int, int]]:
    return [(start, end) for start, end in spans.tolist()]


@given(st.integers(1, 30), st.integers(1, 35))
def test_all_spans_are_those_of_two_loops(length: int, max_width: int) -> None:
    assert pairs(all_spans(length, max_width)) == looped(length, max_width)


@given(st.integers(10, 60))
def test_the_number_of_spans_is_the_papers(n: int) -> None:
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
def sentences(draw: st.DrawFn) -> tuple[int, int, Ints, int]:
    """A length, a width, gold spans (wider ones and doubles among them) and how many negatives are wanted."""
    length = draw(st.integers(1, 15))
    gold = draw(st.lists(st.sampled_from(looped(length, length)), max_size=6))
    return length, draw(st.integers(1, 17)), np.array(gold, np.int64).reshape(-1, 2), draw(st.integers(0, 120))


@given(sentences(), st.integers(0, 2**32))
def test_negatives_are_as_many_as_wanted_none_gold_and_none_twice(case: tuple[int, int, Ints, int], seed: int) -> None:
    length, max_width, gold, most = case
    drawn = pairs(sample_negatives(length, max_width, gold, most, np.random.default_rng(seed)))
    negative = set(looped(length, max_width)) - set(pairs(gold))
    assert len(drawn) == len(set(drawn)) == min(len(negative), most)  # eq. 20
    assert set(drawn) <= negative


@given(sentences(), st.integers(0, 2**32))
def test_the_same_generator_samples_the_same_negatives(case: tuple[int, int, Ints, int], seed: int) -> None:
    one, other = (sample_negatives(*case, np.random.default_rng(seed)) for _ in range(2))
    assert np.array_equal(one, other)


def test_every_negative_is_sampled_about_equally_often() -> None:
    gold, rng = np.array([[0, 2], [3, 4]]), np.random.default_rng(0)
    counts = dict.fromkeys(set(looped(8, 4)) - set(pairs(gold)), 0)
    rounds, most = 3000, 6
    for _ in range(rounds):
        for span in pairs(sample_negatives(8, 4, gold, most, rng)):
            counts[span] += 1
    expected = rounds * most / len(counts)
    assert max(abs(count - expected) for count in counts.values()) < 5 * expected**0.5


def test_successive_samples_differ() -> None:
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
def test_pairs_are_those_with_a_relation_and_as_many_others_as_wanted(
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


def test_every_other_pair_is_sampled_about_equally_often() -> None:
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


def labeled(proposals: Proposals[Array]) -> list[tuple[tuple[int, ...], list[int]]]:
    """Candidates with the labels they have."""
    rows = zip(proposals.spans.tolist(), proposals.labels, strict=True)
    return [(tuple(span), np.flatnonzero(held).tolist()) for span, held in rows]


def test_at_inference_all_spans_are_candidates_without_labels_or_pairs() -> None:
    examples = [example([1] * 3, [(0, 1, 0)]), example([1])]
    found = SpanProposer(2, Negatives(100), pairs=Negatives(9), relations=2).propose(examples, LABELS, None)
    assert found.spans.tolist() == [[0, 0, 1], [0, 0, 2], [0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 0, 1]]
    assert found.labels.shape == (6, 0)
    assert found.pairs.shape == (0, 2)
    assert found.relations.shape == (0, 0)


@pytest.mark.parametrize("merge", [False, True])
def test_in_training_candidates_are_gold_and_sampled_spans(merge: bool) -> None:
    examples = [example([1] * 10, [(0, 1, 0), (0, 1, 2), (3, 9, 1)]), example([1, 1])]
    proposer = SpanProposer(3, Negatives(5), merge_labels=merge)
    rows = labeled(proposer.propose(examples, LABELS, np.random.default_rng(0)))
    wanted = [((0, 0, 1), [0, 2])] if merge else [((0, 0, 1), [0]), ((0, 0, 1), [2])]  # and one that is too wide
    assert [row for row in rows if row[1]] == wanted
    assert sum(span[0] == 0 and not held for span, held in rows) == 5
    assert sorted(span for span, _ in rows if span[0] == 1) == [(1, 0, 1), (1, 0, 2), (1, 1, 2)]


MAX_WIDTH = 3


@st.composite
def examples_with_context(draw: st.DrawFn) -> list[Example]:
    """Examples of up to seven scored words between words of context, with gold of any width among the former."""
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        before, length, behind = draw(st.integers(0, 3)), draw(st.integers(1, 7)), draw(st.integers(0, 3))
        spans = [(start + before, end + before) for start, end in looped(length, length)]
        entities = st.lists(st.tuples(st.sampled_from(spans), st.integers(0, LABELS - 1)), max_size=5, unique=True)
        gold = [(*span, label) for span, label in draw(entities)]
        rows.append(example([1] * (before + length + behind), gold, before=before, behind=behind))
    return rows


def scored_spans(rows: list[Example]) -> set[tuple[int, int, int]]:
    """All spans of scored words that are narrow enough."""
    return {
        (row, start + own.first_scored, end + own.first_scored)
        for row, own in enumerate(rows)
        for start, end in looped(own.scored_words, MAX_WIDTH)
    }


@given(examples_with_context(), st.sampled_from([0, 3, ALL_NEGATIVES]), st.integers(0, 9))
def test_candidates_hold_each_gold_label_once_and_no_word_of_context(
    rows: list[Example], number: int, seed: int
) -> None:
    read = SpanProposer(MAX_WIDTH, Negatives(number)).propose(rows, LABELS, None)
    assert {tuple(span) for span in read.spans.tolist()} == scored_spans(rows)
    gold: dict[tuple[int, ...], set[int]] = {}
    for row, own in enumerate(rows):
        for start, end, label in own.gold.tolist():
            if end - start <= MAX_WIDTH:
                gold.setdefault((row, start, end), set()).add(label)
    for merge in (False, True):
        proposer = SpanProposer(MAX_WIDTH, Negatives(number), merge_labels=merge)
        found = labeled(proposer.propose(rows, LABELS, np.random.default_rng(seed)))
        held = [(span, label) for span, labels in found for label in labels]
        assert sorted(held) == sorted((span, label) for span, labels in gold.items() for label in labels)
        positive = [span for span, labels in found if labels]
        assert sorted(positive) == sorted(gold) if merge else len(positive) == len(held)
        negative = [span for span, labels in found if not labels]
        assert len(negative) == len(set(negative))
        assert set(negative) <= scored_spans(rows) - set(gold)
        for row in range(len(rows)):
            left = sum(span[0] == row for span in scored_spans(rows) - set(gold))
            assert sum(span[0] == row for span in negative) == min(number, left)


def drawn_pairs(found: Proposals[Array]) -> list[tuple[list[int], list[int], list[int]]]:
    """Each pair: its head and its tail as example, start and end, and the types it has."""
    return [
        (found.spans[head].tolist(), found.spans[tail].tolist(), np.flatnonzero(held).tolist())
        for (head, tail), held in zip(found.pairs.tolist(), found.relations, strict=True)
    ]


LINKED = [
    example([1] * 3),
    example(
        [1] * 9, [(0, 1, 0), (2, 8, 1), (3, 4, 2), (8, 9, 0)], relations=[(3, 1, 0), (1, 3, 1), (3, 2, 1), (0, 2, 0)]
    ),
    example([1] * 2, [(0, 1, 1)]),
    example([1] * 4, [(0, 1, 0), (2, 4, 1)], relations=[(1, 0, 1)]),
]


def linked_by(negatives: Negatives, *, merge: bool = False) -> Proposals[Array]:
    proposer = SpanProposer(3, Negatives(2), merge, negatives, relations=2)
    return proposer.propose(LINKED, LABELS, np.random.default_rng(0))


@pytest.mark.parametrize("merge", [False, True])
def test_pairs_join_gold_spans_of_their_own_example_and_none_that_is_too_wide(merge: bool) -> None:
    found = linked_by(Negatives(100), merge=merge)
    a, b, c = [1, 0, 1], [1, 3, 4], [1, 8, 9]
    second = [(a, b, [0]), (c, b, [1]), (a, c, []), (b, a, []), (b, c, []), (c, a, [])]
    assert drawn_pairs(found) == [*second, ([3, 2, 4], [3, 0, 1], [1]), ([3, 0, 1], [3, 2, 4], [])]
    assert found.labels[found.pairs].any(-1).all()
    assert found.relations.dtype == np.float32


def test_a_relation_of_either_label_of_a_merged_span_is_one_of_the_span() -> None:
    gold = [(0, 1, 3), (2, 3, 0), (0, 1, 1), (1, 6, 0)]  # the last is too wide
    linked = example([1] * 6, gold, relations=[(0, 1, 0), (1, 2, 1), (2, 3, 1)])
    proposer = SpanProposer(3, Negatives(1), merge_labels=True, pairs=Negatives(9), relations=2)
    found = proposer.propose([example([1, 1]), linked], LABELS, np.random.default_rng(0))
    assert drawn_pairs(found) == [([1, 0, 1], [1, 2, 3], [0]), ([1, 2, 3], [1, 0, 1], [1])]


@pytest.mark.parametrize(("negatives", "number"), [(Negatives(3), 3), (Negatives(1, per_gold=True), 2)])
def test_pairs_without_a_relation_are_as_many_as_asked_for(negatives: Negatives, number: int) -> None:
    """The second example has six pairs, and two of them have a relation; the last has two and one."""
    empty = [head[0] for head, _, held in drawn_pairs(linked_by(negatives)) if not held]
    assert (empty.count(1), empty.count(3)) == (number, 1)


@pytest.mark.parametrize(("gold", "limit"), [(0, 30), (1, 30), (2, 60), (7, 210)])
def test_negatives_per_gold_are_those_of_one_where_there_is_no_gold(gold: int, limit: int) -> None:
    assert Negatives(30, per_gold=True).limit(gold, sentences=1) == limit
    assert Negatives(100).limit(gold, sentences=1) == 100


def test_negatives_per_gold_are_counted_in_each_example() -> None:
    spans = [(2 * i, 2 * i + 1, 0) for i in range(9)]
    examples = [example([1] * 60), example([1] * 60, spans[:2]), example([1] * 60, spans, relations=[(0, 1, 0)] * 2)]
    thirty = Negatives(30, per_gold=True)
    found = SpanProposer(8, thirty, pairs=thirty, relations=1).propose(examples, LABELS, np.random.default_rng(0))
    negative = found.spans[~found.labels.any(-1), 0]
    assert np.bincount(negative).tolist() == [30, 60, 270]
    empty = [head[0] for head, _, held in drawn_pairs(found) if not held]
    assert (empty.count(0), empty.count(1), empty.count(2)) == (0, 2, 30)  # all of two, thirty of 72


def test_a_model_of_entities_gets_no_pairs() -> None:
    found = SpanProposer(3, Negatives(2)).propose(LINKED, LABELS, np.random.default_rng(0))
    assert found.pairs.shape == empty_proposals().pairs.shape == (0, 2)
    assert empty_proposals().spans.shape == (0, 3)


@pytest.mark.parametrize("sentences", [1, 2, 7])
def test_a_long_window_has_the_negatives_of_its_sentences(sentences: int) -> None:
    window = replace(example([1] * 200, [(0, 1, 0)]), sentences=sentences)
    found = SpanProposer(8, Negatives(20)).propose([window], LABELS, np.random.default_rng(0))
    assert len(found.spans) == 1 + 20 * sentences
