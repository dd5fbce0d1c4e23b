"""Negatives that training samples: which of them, and the weight that makes a sum over a sample one over all."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class SampledSpans(NamedTuple):
    """Some of a batch's candidates, each with the number of candidates that it represents, itself included."""

    spans: Tensor  # [M, 3]
    candidates: Tensor  # [M]   rows of the batch's spans
    weights: Tensor  # [M]


def sampling_weights(spans: Tensor, labels: Tensor, scored: Tensor, widest: int) -> Tensor:
    """The inverse of each candidate's sampling rate among all spans of its example. -> [N]

    A span with two labels, which a batch may hold twice, counts once.
    spans [N, 3]; labels [N, E]; scored [B, T]
    """
    _, place, times = spans.unique(dim=0, return_inverse=True, return_counts=True)
    once, row, negative = 1 / times[place], spans[:, 0], ~labels.any(-1)
    words = scored.sum(-1)
    width = words.clamp(max=widest)
    number = words * width - width * (width - 1) / 2  # Σ over k = 1 … width of words - k + 1
    drawn, gold = (once.new_zeros(len(scored)).index_add(0, row, once * kind) for kind in (negative, ~negative))
    return torch.where(negative, (number - gold)[row] / drawn[row], once)


def all_candidates(spans: Tensor) -> SampledSpans:
    rows = torch.arange(len(spans), device=spans.device)
    return SampledSpans(spans, rows, torch.ones(len(rows), device=rows.device))


def sample_by_score(spans: Tensor, labels: Tensor, scores: Tensor, size: int, limit: int) -> SampledSpans:
    """Every gold span and `limit` negatives of each example: half of them the highest scored, half drawn from the rest.

    Those that are hard to tell from entities are then always learned from, and a drawn one is weighted by the inverse
    of its sampling rate. The candidates are all spans of the examples. spans [N, 3]; labels [N, E]; scores [N]
    """
    example, negative = spans[:, 0], ~labels.any(-1)
    hard = negative & (_ranks(scores.masked_fill(~negative, -torch.inf), example) < limit // 2)
    rest = negative & ~hard
    lots = torch.rand(len(scores), device=scores.device).masked_fill(~rest, -torch.inf)
    sampled = rest & (_ranks(lots, example) < limit - limit // 2)
    of_rest, of_sampled = (example[kind].bincount(minlength=size) for kind in (rest, sampled))
    weight = torch.where(sampled, (of_rest / of_sampled)[example], 1.0)
    rows = (~rest | sampled).nonzero().squeeze(1)
    return SampledSpans(spans[rows], rows, weight[rows])


def _ranks(scores: Tensor, example: Tensor) -> Tensor:
    """The place of each among those of its example, from 0, which the highest has. -> [N]"""
    order = scores.argsort(descending=True)
    order = order[example[order].argsort(stable=True)]
    counts = example.bincount()
    first = (counts.cumsum(0) - counts)[example[order]]
    return torch.empty_like(order).index_copy(0, order, torch.arange(len(order), device=order.device) - first)
