"""Boundary smoothing (Zhu and Li 2022): a gold span gives a share of its probability to its neighbors."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.nn.classification import mask_unknown


class Smoothing(NamedTuple):
    """ε, and D: the largest distance between a gold span and a neighbor, summed over both boundaries."""

    share: float
    distance: int = 1


def smoothed_loss(logits: Tensor, targets: Tensor, weight: Tensor, annotated: Tensor, *, multi_label: bool) -> Tensor:
    """DSpERT eq. 7, a sum over spans. logits [M, 1 + E] or [M, E]; targets, annotated [M, E]; weight [M]"""
    if multi_label:
        each = F.binary_cross_entropy_with_logits(logits.float(), targets.clamp(max=1), reduction="none")
        return ((each * annotated).sum(-1) * weight).sum()
    classes = targets / targets.sum(-1, keepdim=True).clamp(min=1)  # two labels on one span split the probability
    classes = torch.cat((1 - classes.sum(-1, keepdim=True), classes), dim=-1)
    each = -(classes * mask_unknown(logits.float(), annotated).log_softmax(-1)).sum(-1)
    return (each * weight).sum()


def smoothed_targets(
    spans: Tensor, gold: Tensor, scored: Tensor, labels: int, widest: int, smoothing: Smoothing
) -> Tensor:
    """Target probability of each label for each candidate, from all gold spans near it. -> [N, labels]

    Each distance from 1 to D gets ε / D, spread evenly over the 4 · distance spans at that distance. The share of an
    invalid span (outside the scored words, empty, or wider than `widest`) stays with the gold span.
    spans [N, 3]; gold [G, 4]; scored [B, T]
    """
    length = scored.shape[1] + 1
    around = _neighbor_offsets(smoothing.distance).to(gold.device)  # [R, 3]   offsets of start and end, distance
    start, end = (gold[:, None, i] + around[:, i - 1] for i in (1, 2))  # [G, R]
    first = scored.int().argmax(-1)
    behind = first + scored.sum(-1)
    low, high = (border[gold[:, 0]].unsqueeze(1) for border in (first, behind))
    possible = (start >= low) & (start < end) & (end <= high) & (end - start <= widest)
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
    shares = weight.new_zeros(len(own), labels)
    return shares.index_put((at[found], label[found]), weight[found], accumulate=True)[place]


def _neighbor_offsets(distance: int) -> Tensor:
    """Offsets of start and end that sum to a distance of 1 to `distance`, and that distance. -> [R, 3]"""
    reach = range(-distance, distance + 1)
    moves = [(i, j, abs(i) + abs(j)) for i in reach for j in reach if 0 < abs(i) + abs(j) <= distance]
    return torch.tensor(moves, dtype=torch.long).view(-1, 3)


def _cells(row: Tensor, start: Tensor, end: Tensor, length: int) -> Tensor:
    return (row * length + start) * length + end
