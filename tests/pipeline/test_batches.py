"""Batching: every example once, of similar length together, and within the budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from invented_examples import example
from spanwise.corpora import Corpus
from spanwise.document import Document
from spanwise.pipeline.batches import prediction_batches, training_batches
from spanwise.pipeline.torch_pipeline import TorchPipeline

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


@pytest.mark.parametrize("budget", [1, 40, 100_000])
def test_predictions_come_back_in_order_whatever_the_budget(
    make_pipeline: Callable[..., TorchPipeline], flat_corpus: Corpus, budget: int
) -> None:
    pipeline = make_pipeline("span-ner")
    documents = [*flat_corpus.splits["train"], Document(""), *reversed(flat_corpus.splits["train"])]
    found = pipeline.predict(documents, token_budget=budget)
    assert [d.text for d in found] == [d.text for d in documents]
    for one, document in zip(found, documents, strict=True):
        (alone,) = pipeline.predict([document])
        assert [(e.start, e.end, e.label) for e in one.entities] == [(e.start, e.end, e.label) for e in alone.entities]


@given(st.lists(st.integers(1, 400), min_size=1, max_size=60), st.integers(1, 20), st.integers(0, 2**32))
def test_training_batches_hold_as_much_text_whatever_the_length_of_the_windows(
    sizes: list[int], size: int, seed: int
) -> None:
    examples = [replace(example([1] * n), sentences=1 + n // 20) for n in sizes]
    batches = training_batches(examples, size, np.random.default_rng(seed))
    assert sorted(i for batch in batches for i in batch) == list(range(len(sizes)))
    for batch in batches:
        assert len(batch) == 1 or sum(examples[i].sentences for i in batch) <= size
