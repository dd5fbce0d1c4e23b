"""BIO tags of words as numbers: 0 is O, 1 + 2k begins an entity of type k, 2 + 2k is inside one."""

from __future__ import annotations

import torch
from torch import Tensor


def covered_words(start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """Every word of every span: which span it belongs to, and where it stands. start, end [G] -> [words], [words]"""
    width = end - start
    span = torch.repeat_interleave(torch.arange(len(start), device=start.device), width)
    position = torch.arange(len(span), device=start.device) - (width.cumsum(0) - width)[span] + start[span]
    return span, position


def stacked_tags(gold: Tensor, size: int, length: int) -> Tensor:
    """The tags of the two entities that come first over each word, 0 where there is none.

    An entity precedes another that starts after it, or with it and is shorter (STSN, section 4.1).
    gold [G, 4]: example, start, end, label -> [2, B, T]
    """
    gold = gold.unique(dim=0)  # in order of labels, too, which the sorts below keep where bounds are equal
    order = torch.argsort(gold[:, 2], descending=True, stable=True)
    order = order[torch.argsort(gold[order, 1], stable=True)]
    row, start, end, label = gold[order].unbind(-1)
    span, position = covered_words(start, end)
    tag = 1 + 2 * label[span] + (position > start[span])
    cell, by_cell = torch.sort(row[span] * length + position, stable=True)
    _, counts = cell.unique_consecutive(return_counts=True)
    rank = torch.arange(len(cell), device=cell.device) - torch.repeat_interleave(counts.cumsum(0) - counts, counts)
    tags = torch.zeros(2, size * length, dtype=torch.long, device=gold.device)
    seen = rank < 2
    tags[rank[seen], cell[seen]] = tag[by_cell][seen]
    return tags.view(2, size, length)
