"""Which spans a model looks at: all up to a width, or in training the gold ones and a sample of the rest."""

from __future__ import annotations

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
