"""Which spans a model looks at: all up to a width, or in training the gold ones and a sample of the rest."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Spans = NDArray[np.int64]


@lru_cache(maxsize=4096)
def all_spans(length: int, max_width: int) -> Spans:
    """Every [start, end) of at most `max_width` words in a sentence of `length` words. -> [M, 2]"""
    widest = min(max_width, length)
    start, width = np.divmod(np.arange(length * widest, dtype=np.int64), widest)
    end = start + width + 1
    inside = end <= length
    spans = np.stack((start[inside], end[inside]), axis=1)
    spans.setflags(write=False)
    return spans


def sample_negatives(length: int, max_width: int, gold: Spans, most: int, rng: np.random.Generator) -> Spans:
    """BL-NER eq. 20: min(|S|, most) of the spans that are not gold, without replacement. -> [D, 2]"""
    spans = all_spans(length, max_width)
    taken = gold[:, 0] * (length + 1) + gold[:, 1]
    negative = spans[~np.isin(spans[:, 0] * (length + 1) + spans[:, 1], taken)]
    if len(negative) <= most:
        return negative
    return negative[rng.choice(len(negative), most, replace=False, shuffle=False)]


def sample_pairs(
    spans: Spans, links: NDArray[np.int64], types: int, most: Callable[[int], int], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The pairs of gold spans that hold a relation, and `most(number of them)` of those that hold none.

    Entities on the same span count as one. spans [G, 2]; links [Q, 3]: head, tail, type
    -> pairs [M, 2] as rows of `spans`, and which of the types each holds [M, types]
    """
    if not len(spans):
        return np.zeros((0, 2), np.int64), np.zeros((0, types), np.float32)
    code = spans[:, 0] * (spans.max() + 1) + spans[:, 1]
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    size = len(first)
    held = np.zeros((size * size, types), np.float32)
    held[number[links[:, 0]] * size + number[links[:, 1]], links[:, 2]] = 1
    apart = ~np.eye(size, dtype=bool).ravel()
    positive = np.flatnonzero(held.any(1) & apart)
    negative = np.flatnonzero(~held.any(1) & apart)
    wanted = most(len(positive))
    if len(negative) > wanted:
        negative = negative[rng.choice(len(negative), wanted, replace=False, shuffle=False)]
    chosen = np.concatenate((positive, negative))
    return np.stack((first[chosen // size], first[chosen % size]), axis=1), held[chosen]
