"""Batching: every example once, batches within their budget, and padding that nothing can mistake for words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spanwise.batching import collate, prediction_batches, training_batches
from spanwise.batching import given as given_spans
from spanwise.corpora import Corpus
from spanwise.document import Document
from spanwise.models.base import Candidates, Negatives
from spanwise.nn.batch import Batch
from spanwise.pipeline import Pipeline
from spanwise.text.examples import Example
from spanwise.text.windows import Window

PAD = 9


def example(
    counts: list[int],
    gold: Sequence[tuple[int, int, int]] = (),
    flat: list[bool] | None = None,
    relations: Sequence[tuple[int, int, int]] = (),
) -> Example:
    """An invented example: pieces 100, 101, … between special pieces 1 and 2."""
    return Example(
        Document(""),
        Window(0, len(counts), 0, len(counts)),
        np.array([1, *range(100, 100 + sum(counts)), 2]),
        np.array(counts),
        np.arange(len(counts)) % 11,
        np.array(gold, np.int64).reshape(-1, 3),
        np.array([True] * len(gold) if flat is None else flat, np.bool_),
        np.array(relations, np.int64).reshape(-1, 3),
    )


lengths = st.lists(st.integers(1, 40), min_size=1, max_size=80)


@given(lengths, st.integers(1, 9), st.integers(0, 2**32))
def test_training_batches_hold_every_example_once(sizes: list[int], size: int, seed: int) -> None:
    examples = [example([1] * n) for n in sizes]
    batches = training_batches(examples, size, np.random.default_rng(seed))
    assert sorted(i for batch in batches for i in batch) == list(range(len(sizes)))
    assert sorted(map(len, batches), reverse=True)[:-1] == [size] * (len(batches) - 1)
    assert batches == training_batches(examples, size, np.random.default_rng(seed))


def test_training_batches_are_of_similar_length_and_differ_between_epochs() -> None:
    examples = [example([1] * (1 + i % 40)) for i in range(400)]
    rng = np.random.default_rng(0)
    epochs = [training_batches(examples, 8, rng) for _ in range(2)]
    assert epochs[0] != epochs[1]
    spread = [max(examples[i].length for i in b) - min(examples[i].length for i in b) for b in epochs[0]]
    assert sum(spread) / len(spread) < 4
    assert [b[0] for b in epochs[0]] != sorted(b[0] for b in epochs[0])
    first = [examples[b[0]].length for b in epochs[0]]
    assert first != sorted(first)  # short and long batches mixed


@given(lengths, st.integers(1, 200))
def test_prediction_batches_hold_every_example_once_within_the_budget(sizes: list[int], budget: int) -> None:
    examples = [example([1] * n) for n in sizes]
    batches = list(prediction_batches(examples, budget))
    assert sorted(i for batch in batches for i in batch) == list(range(len(sizes)))
    for batch in batches:
        padded = len(batch) * max(len(examples[i].pieces) for i in batch)
        assert padded <= budget or len(batch) == 1


def test_no_examples_make_no_batches() -> None:
    assert list(prediction_batches([], 100)) == []
    assert training_batches([], 4, np.random.default_rng(0)) == []


def test_a_batch_is_padded_and_says_where_words_lie() -> None:
    batch = collate([example([2, 1, 3], [(0, 2, 4)]), example([1])], PAD, 1, None)
    assert batch.pieces.tolist() == [[1, 100, 101, 102, 103, 104, 105, 2], [1, 100, 2, PAD, PAD, PAD, PAD, PAD]]
    assert batch.piece_mask.tolist() == [[1] * 8, [1] * 3 + [0] * 5]
    assert batch.word_mask.tolist() == [[True] * 3, [True, False, False]]
    assert batch.first_piece.tolist() == [[1, 3, 4], [1, 0, 0]]
    assert batch.last_piece.tolist() == [[2, 3, 6], [1, 0, 0]]
    assert batch.shapes.tolist() == [[0, 1, 2], [0, 0, 0]]
    assert batch.gold.tolist() == [[0, 0, 2, 4]]
    assert batch.spans.shape == (0, 3)
    assert batch.size == 2


def test_gold_names_its_example() -> None:
    batch = collate([example([1]), example([1] * 4, [(0, 4, 1), (1, 2, 0)], [True, False])], PAD, 1, None)
    assert batch.gold.tolist() == [[1, 0, 4, 1], [1, 1, 2, 0]]
    assert batch.gold_flat.tolist() == [True, False]


def test_at_work_all_spans_are_candidates_without_labels() -> None:
    batch = collate([example([1] * 3, [(0, 1, 0)]), example([1])], PAD, 1, Candidates(2, Negatives(100)))
    assert batch.spans.tolist() == [[0, 0, 1], [0, 0, 2], [0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 0, 1]]
    assert batch.span_labels.tolist() == [0] * 6


def test_in_training_candidates_are_gold_and_sampled_spans() -> None:
    examples = [example([1] * 10, [(0, 1, 0), (0, 1, 2), (3, 9, 1)]), example([1, 1])]
    batch = collate(examples, PAD, 1, Candidates(3, Negatives(5)), np.random.default_rng(0))
    rows = list(zip(map(tuple, batch.spans.tolist()), batch.span_labels.tolist(), strict=True))
    assert [row for row in rows if row[1]] == [((0, 0, 1), 1), ((0, 0, 1), 3)]  # two labels on one span; one too wide
    assert sum(span[0] == 0 and not label for span, label in rows) == 5
    assert sorted(span for span, _ in rows if span[0] == 1) == [(1, 0, 1), (1, 0, 2), (1, 1, 2)]


def test_the_same_generator_gives_the_same_batch() -> None:
    examples = [example([1] * 20, [(0, 2, 0)])]
    one, other = (collate(examples, PAD, 1, Candidates(6, Negatives(8)), np.random.default_rng(5)) for _ in range(2))
    third = collate(examples, PAD, 1, Candidates(6, Negatives(8)), np.random.default_rng(6))
    assert torch.equal(one.spans, other.spans)
    assert not torch.equal(one.spans, third.spans)


@pytest.mark.parametrize("budget", [1, 40, 100_000])
def test_predictions_come_back_in_order_whatever_the_budget(
    make_pipeline: Callable[..., Pipeline], flat_corpus: Corpus, budget: int
) -> None:
    pipeline: Any = make_pipeline("span-ner")
    documents = [*flat_corpus.splits["train"], Document(""), *reversed(flat_corpus.splits["train"])]
    found = pipeline.predict(documents, token_budget=budget)
    assert [d.text for d in found] == [d.text for d in documents]
    for one, document in zip(found, documents, strict=True):
        (alone,) = pipeline.predict([document])
        assert [(e.start, e.end, e.label) for e in one.entities] == [(e.start, e.end, e.label) for e in alone.entities]


def drawn_pairs(batch: Batch) -> list[tuple[list[int], list[int], list[int]]]:
    """Each pair of a batch: its head and its tail as example, start and end, and the types it holds."""
    rows = zip(batch.pairs.tolist(), batch.pair_labels.tolist(), strict=True)
    return [
        (batch.spans[head].tolist(), batch.spans[tail].tolist(), [k for k, one in enumerate(held) if one])
        for (head, tail), held in rows
    ]


LINKED = [
    example([1] * 3),
    example(
        [1] * 9, [(0, 1, 0), (2, 8, 1), (3, 4, 2), (8, 9, 0)], relations=[(3, 1, 0), (1, 3, 1), (3, 2, 1), (0, 2, 0)]
    ),
    example([1] * 2, [(0, 1, 1)]),
    example([1] * 4, [(0, 1, 0), (2, 4, 1)], relations=[(1, 0, 1)]),
]


def test_pairs_join_gold_spans_of_their_own_example_and_an_entity_that_is_too_wide_leaves_none() -> None:
    wanted = Candidates(3, Negatives(2), Negatives(100), 2)
    batch = collate(LINKED, PAD, 1, wanted, np.random.default_rng(0))
    a, b, c = [1, 0, 1], [1, 3, 4], [1, 8, 9]
    second = [(a, b, [0]), (c, b, [1]), (a, c, []), (b, a, []), (b, c, []), (c, a, [])]
    assert drawn_pairs(batch) == [*second, ([3, 2, 4], [3, 0, 1], [1]), ([3, 0, 1], [3, 2, 4], [])]
    assert (batch.span_labels[batch.pairs] > 0).all()
    assert batch.pair_labels.dtype == torch.float32


@pytest.mark.parametrize(("negatives", "number"), [(Negatives(3), 3), (Negatives(1, per_gold=True), 2)])
def test_pairs_without_a_relation_are_as_many_as_asked_for(negatives: Negatives, number: int) -> None:
    """The second example has six pairs, and two of them hold a relation; the last has two and one."""
    batch = collate(LINKED, PAD, 1, Candidates(3, Negatives(2), negatives, 2), np.random.default_rng(0))
    empty = [head[0] for head, _, held in drawn_pairs(batch) if not held]
    assert (empty.count(1), empty.count(3)) == (number, 1)


@pytest.mark.parametrize(("gold", "most"), [(0, 30), (1, 30), (2, 60), (7, 210)])
def test_thirtyfold_negatives_are_thirty_where_there_is_no_gold(gold: int, most: int) -> None:
    assert Negatives(30, per_gold=True).most(gold) == most
    assert Negatives(100).most(gold) == 100


def test_thirtyfold_negatives_are_counted_in_each_sentence() -> None:
    spans = [(2 * i, 2 * i + 1, 0) for i in range(9)]
    examples = [example([1] * 60), example([1] * 60, spans[:2]), example([1] * 60, spans, relations=[(0, 1, 0)] * 2)]
    thirty = Negatives(30, per_gold=True)
    batch = collate(examples, PAD, 1, Candidates(8, thirty, thirty, 1), np.random.default_rng(0))
    negative = batch.spans[batch.span_labels == 0, 0]
    assert torch.bincount(negative).tolist() == [30, 60, 270]
    empty = [head[0] for head, _, held in drawn_pairs(batch) if not held]
    assert (empty.count(0), empty.count(1), empty.count(2)) == (0, 2, 30)  # all of two, thirty of 72


def test_at_work_there_are_no_pairs() -> None:
    batch = collate(LINKED, PAD, 1, Candidates(3, Negatives(2), Negatives(100), 2))
    assert batch.pairs.shape == (0, 2)
    assert batch.pair_labels.shape == (0, 2)


def test_a_model_of_entities_gets_no_pairs() -> None:
    for candidates in (None, Candidates(3, Negatives(2))):
        batch = collate(LINKED, PAD, 1, candidates, np.random.default_rng(0))
        assert batch.pairs.shape == (0, 2)


def test_given_entities_are_the_only_candidates_however_wide() -> None:
    batch = given_spans(LINKED, PAD, 1)
    assert batch.spans.tolist() == [[1, 0, 1], [1, 2, 8], [1, 3, 4], [1, 8, 9], [2, 0, 1], [3, 0, 1], [3, 2, 4]]
    assert batch.span_labels.tolist() == [1, 2, 3, 1, 2, 1, 2]
    assert batch.size == 4
