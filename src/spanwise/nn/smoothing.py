"""Boundary smoothing (Zhu and Li 2022): a gold span gives a share of its probability to its neighbours."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spanwise.nn.batch import Batch


class Smoothing(NamedTuple):
    """ε, and how far from the gold span, counted over both boundaries, a neighbour may be (D)."""

    share: float
    distance: int = 1


def smoothed_loss(logits: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
    """eq. 7, a sum over spans. logits, targets [M, 1 + labels]; weight [M]"""
    each = -(targets * logits.float().log_softmax(-1)).sum(-1)
    return (each * weight).sum()


def smoothed_targets(batch: Batch, labels: int, widest: int, smoothing: Smoothing) -> Tensor:
    """The probability that each candidate should have of each class, None first. -> [N, 1 + labels]

    Each distance from 1 to D has ε / D, spread evenly over the 4 · distance spans that are so far away. What would
    fall on a span that cannot be (outside the sentence, empty, wider than `widest`) stays with the gold span.
    """
    spans, gold = batch.spans, batch.gold
    length = batch.word_mask.shape[1] + 1
    around = _around(smoothing.distance).to(gold.device)  # [R, 3]   moves of start and end, and how far
    start, end = (gold[:, None, i] + around[:, i - 1] for i in (1, 2))  # [G, R]
    words = batch.word_mask.sum(-1)[gold[:, 0]].unsqueeze(1)
    possible = (start >= 0) & (start < end) & (end <= words) & (end - start <= widest)
    weight = possible * (smoothing.share / smoothing.distance / (4.0 * around[:, 2]))
    kept = 1 - weight.sum(1, keepdim=True)
    row, label = gold[:, :1].expand_as(start), gold[:, 3:].expand_as(start)
    cell = _cells(row, start.clamp(0, length - 1), end.clamp(0, length - 1), length)
    cell = torch.cat((cell, _cells(gold[:, :1], gold[:, 1:2], gold[:, 2:3], length)), dim=1).flatten()
    weight = torch.cat((weight, kept), dim=1).flatten()
    label = torch.cat((label, gold[:, 3:]), dim=1).flatten()
    own, place = _cells(spans[:, 0], spans[:, 1], spans[:, 2], length).unique(return_inverse=True)
    at = torch.searchsorted(own, cell).clamp(max=max(len(own) - 1, 0))
    found = (own[at] == cell) if len(own) else torch.zeros_like(cell, dtype=torch.bool)
    classes = weight.new_zeros(len(own), labels)
    classes = classes.index_put((at[found], label[found]), weight[found], accumulate=True)
    classes = classes / classes.sum(-1, keepdim=True).clamp(min=1)  # two labels on one span share it
    return torch.cat((1 - classes.sum(-1, keepdim=True), classes), dim=-1)[place]


def _around(distance: int) -> Tensor:
    """Moves of a start and an end by 1 to `distance` words together, and by how many. -> [R, 3]"""
    reach = range(-distance, distance + 1)
    moves = [(i, j, abs(i) + abs(j)) for i in reach for j in reach if 0 < abs(i) + abs(j) <= distance]
    return torch.tensor(moves, dtype=torch.long).view(-1, 3)


def _cells(row: Tensor, start: Tensor, end: Tensor, length: int) -> Tensor:
    return (row * length + start) * length + end
