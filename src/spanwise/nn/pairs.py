"""Pairs of spans: the words between them."""

from __future__ import annotations

import torch
from torch import Tensor

from spanwise.nn.pooling import RangeMax, max_range_width


def words_between(head: Tensor, tail: Tensor) -> tuple[Tensor, Tensor]:
    """First and last word, inclusive, between two spans; last < first if there are none.

    head, tail [M, 3]: example, start, end
    """
    return torch.minimum(head[:, 2], tail[:, 2]), torch.maximum(head[:, 1], tail[:, 1]) - 1


def context_maxima(words: Tensor) -> RangeMax:
    """Maxima over any range of words [B, T, d]."""
    return RangeMax(words, max_range_width(words.shape[1]))


def max_between(words: RangeMax, head: Tensor, tail: Tensor) -> Tensor:
    """Maximum over the words between two spans; zeros if they touch or overlap. -> [M, d]"""
    first, last = words_between(head, tail)
    apart = first <= last
    return words(head[:, 0], first.where(apart, 0), last.where(apart, 0)) * apart.unsqueeze(-1)
