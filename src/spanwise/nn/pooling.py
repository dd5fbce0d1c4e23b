"""Pooling over ranges of a sequence without a mask of [spans, words, dim]."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Pooling = Literal["max", "first", "mean"]
MAX_EXPORT_LENGTH = 512  # longest range of words that an exported graph can max-pool


class RangeMax:
    """Element-wise maxima over any ranges of at most `widest` positions.

    A sparse table holds the maxima of 1, 2, 4, … neighbors; the maximum of any range is the maximum of two cells.
    """

    def __init__(self, vectors: Tensor, widest: int) -> None:
        self.size, self.length, dim = vectors.shape
        table = [vectors]
        reach = 1
        longest = widest if torch.compiler.is_exporting() else min(widest, self.length)  # a graph takes any length
        while 2 * reach <= longest:
            table.append(_doubled(table[-1], reach))
            reach *= 2
        self.levels = len(table)
        self.cells = torch.stack(table).reshape(-1, dim)  # [levels · B · T, d]

    def __call__(self, row: Tensor, first: Tensor, last: Tensor) -> Tensor:
        """Maxima over [first, last], inclusive. row, first, last [N] -> [N, d]"""
        level = _log2(last - first + 1, self.levels)
        base = (level * self.size + row) * self.length
        left = self.cells.index_select(0, base + first)
        right = self.cells.index_select(0, base + last + 1 - (1 << level))
        return torch.maximum(left, right)


def _doubled(level: Tensor, reach: int) -> Tensor:
    """Maxima over twice as many neighbors, without positions past the end. [B, T, d] -> [B, T, d]"""
    if torch.compiler.is_exporting():  # slices of symbolic length would nest from level to level
        return torch.maximum(level, F.pad(level, (0, 0, 0, reach), value=-torch.inf)[:, reach:])
    return torch.cat((torch.maximum(level[:, :-reach], level[:, reach:]), level[:, -reach:]), dim=1)


def max_range_width(length: int) -> int:
    """Largest width of a range in a sequence of `length` positions; a constant during export."""
    return MAX_EXPORT_LENGTH if torch.compiler.is_exporting() else length


def span_max(vectors: Tensor, row: Tensor, first: Tensor, last: Tensor, widest: int) -> Tensor:
    """Maximum over each range [first, last]. vectors [B, T, d]; row, first, last [N] -> [N, d]"""
    return RangeMax(vectors, widest)(row, first, last)


def _log2(width: Tensor, levels: int) -> Tensor:
    """floor(log2(width)) by comparison, which is exact; a float logarithm is not."""
    powers = 2 ** torch.arange(1, max(levels, 1), device=width.device)
    return (width.unsqueeze(-1) >= powers).sum(-1)


def pool_pieces(pieces: Tensor, first: Tensor, last: Tensor, how: Pooling, widest: int) -> Tensor:
    """Word vectors from their pieces' vectors (BL-NER eq. 3 takes the maximum).

    pieces [B, P, d]; first, last [B, T] -> [B, T, d]
    """
    size, length, dim = pieces.shape
    words = first.shape[1]
    row = torch.arange(size, device=pieces.device).unsqueeze(1).expand(size, words)
    if how == "max":
        pooled = span_max(pieces, row.reshape(-1), first.reshape(-1), last.reshape(-1), widest)
        return pooled.view(size, words, dim)
    flat = pieces.reshape(-1, dim)
    if how == "first":
        return flat.index_select(0, (row * length + first).reshape(-1)).view(size, words, dim)
    sums = torch.cat((pieces.new_zeros(size, 1, dim), pieces.cumsum(1)), dim=1)
    total = sums.gather(1, (last + 1).unsqueeze(-1).expand(-1, -1, dim)) - sums.gather(
        1, first.unsqueeze(-1).expand(-1, -1, dim)
    )
    return total / (last - first + 1).unsqueeze(-1)
