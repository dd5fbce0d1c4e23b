"""BIO tags of words as numbers: 0 is O, 1 + 2k begins an entity of type k, 2 + 2k is inside one."""

from __future__ import annotations

import torch
from torch import Tensor


def covered_words(start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """Every word of every span: the index of its span, and its position. start, end [G] -> [words], [words]"""
    width = end - start
    span = torch.repeat_interleave(torch.arange(len(start), device=start.device), width)
    position = torch.arange(len(span), device=start.device) - (width.cumsum(0) - width)[span] + start[span]
    return span, position


def stacked_tags(gold: Tensor, size: int, length: int) -> Tensor:
    """The tags of the first two entities over each word, 0 where there is none.

    Entities are ordered by start; of two with the same start, the longer is first (STSN, section 4.1).
    gold [G, 4]: example, start, end, label -> [2, B, T]
    """
    gold = gold.unique(dim=0)  # also sorts by label; the stable sorts below keep this order for equal bounds
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


def bio_tags(gold: Tensor, size: int, length: int) -> Tensor:
    """The tag of every word, from gold entities that do not overlap. gold [G, 4] -> [B, T]"""
    row, start, end, label = gold.unbind(-1)
    tags = torch.zeros(size, length, dtype=torch.long, device=gold.device)
    span, position = covered_words(start, end)
    tags[row[span], position] = 2 + 2 * label[span]
    tags[row, start] = 1 + 2 * label
    return tags


def shift_to_first_scored(rows: Tensor, scored: Tensor) -> Tensor:
    """Shift each row so that it begins with its first scored word; positions filled at the end are not scored.

    rows [B, T, …]; scored [B, T]
    """
    first = scored.int().argmax(-1, keepdim=True)
    place = torch.arange(scored.shape[1], device=scored.device) + first
    row = torch.arange(len(scored), device=scored.device).unsqueeze(1)
    inside = place < scored.shape[1]
    moved = rows[row, place.clamp(max=scored.shape[1] - 1)]
    return moved & inside if rows.dtype == torch.bool else moved
