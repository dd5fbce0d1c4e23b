"""Which examples go together: of similar length, in batches of a size or within a budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spanwise.text.examples import Example

BUCKET = 50  # batches that are sorted by length together in training


def training_batches(examples: Sequence[Example], size: int, rng: np.random.Generator) -> list[list[int]]:
    """Indices of every example once, in batches of about `size` sentences and of similar length, shuffled.

    A long window counts as its number of sentences, so that a step sees as much text whatever the documents' length.
    """
    sentences = [example.sentences for example in examples]
    batches = []
    for bucket in _cut(rng.permutation(len(examples)).tolist(), sentences, BUCKET * size):
        bucket.sort(key=lambda i: len(examples[i].pieces))
        batches += _cut(bucket, sentences, size)
    return [batches[i] for i in rng.permutation(len(batches))]


def mixed_batches(
    parts: Sequence[Sequence[Example]],
    size: int,
    rng: np.random.Generator,
    *,
    temperature: float,
    number: int | None,
) -> list[tuple[int, list[int]]]:
    """Batches of several corpora, each of one corpus: its index and the indices of its examples.

    A corpus gives a share of the batches by its size to the power of `temperature`. A small one may repeat its
    examples, and a large one gives a part of them.
    """
    own = [training_batches(examples, size, rng) for examples in parts]
    counts = np.array([len(batches) for batches in own])
    wanted = number or int(counts.sum())
    weight = counts**temperature
    shares = rng.multinomial(wanted, weight / weight.sum())
    batches: list[tuple[int, list[int]]] = []
    for part, share in enumerate(shares.tolist()):
        while len(own[part]) < share:
            own[part] += training_batches(parts[part], size, rng)
        batches += [(part, rows) for rows in own[part][:share]]
    return [batches[i] for i in rng.permutation(len(batches))]


def _cut(order: Sequence[int], sentences: Sequence[int], limit: int) -> list[list[int]]:
    """Groups of neighbors with at most `limit` sentences; an example with more has a group to itself."""
    groups: list[list[int]] = []
    room = 0
    for index in order:
        if sentences[index] > room or not groups:
            groups.append([])
            room = limit
        groups[-1].append(index)
        room -= sentences[index]
    return groups


def prediction_batches(examples: Sequence[Example], token_budget: int) -> Iterator[list[int]]:
    """Indices of every example once, sorted by length and cut so that a padded batch holds at most the budget."""
    batch: list[int] = []
    for index in sorted(range(len(examples)), key=lambda i: len(examples[i].pieces)):
        if batch and (len(batch) + 1) * len(examples[index].pieces) > token_budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
