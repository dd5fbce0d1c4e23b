"""Which examples go together: of similar length, in batches of a size or within a budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spanwise.text.examples import Example

BUCKET = 50  # batches that are sorted by length together in training


def training_batches(examples: Sequence[Example], size: int, rng: np.random.Generator) -> list[list[int]]:
    """Indices of every example once, in batches of `size` of similar length, shuffled."""
    order = rng.permutation(len(examples))
    batches = []
    for at in range(0, len(order), BUCKET * size):
        bucket = sorted(order[at : at + BUCKET * size].tolist(), key=lambda i: len(examples[i].pieces))
        batches += [bucket[i : i + size] for i in range(0, len(bucket), size)]
    return [batches[i] for i in rng.permutation(len(batches))]


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
