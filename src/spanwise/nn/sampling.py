"""Negative sampling, with weights that make a sum over the sample estimate the sum over all candidates."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class SampledSpans(NamedTuple):
    """A sample of a batch's candidates, each weighted by the number of candidates it represents, itself included."""

    spans: Tensor  # [M, 3]
    candidates: Tensor  # [M]   rows of the batch's spans
    weights: Tensor  # [M]


def sampling_weights(spans: Tensor, labels: Tensor, scored: Tensor, widest: int) -> Tensor:
    """The inverse of each candidate's sampling rate among all spans of its example. -> [N]

    A span with two labels may occur twice in a batch; it counts once.
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


def sample_by_score(spans: Tensor, labels: Tensor, scores: Tensor, limits: Tensor) -> SampledSpans:
    """Keep all gold spans and some negatives per example: half with the highest scores, half drawn from the rest.

    This always keeps the hardest negatives. A drawn negative is weighted by the inverse of its sampling rate. The
    candidates must be all spans of the examples.
    spans [N, 3]; labels [N, E]; scores [N]; limits [B], number of negatives of each example
    """
    example, negative, limit = spans[:, 0], ~labels.any(-1), limits[spans[:, 0]]
    hard = negative & (_ranks(scores.masked_fill(~negative, -torch.inf), example) < limit // 2)
    rest = negative & ~hard
    lots = torch.rand(len(scores), device=scores.device).masked_fill(~rest, -torch.inf)
    sampled = rest & (_ranks(lots, example) < limit - limit // 2)
    of_rest, of_sampled = (example[kind].bincount(minlength=len(limits)) for kind in (rest, sampled))
    weight = torch.where(sampled, (of_rest / of_sampled)[example], 1.0)
    rows = (~rest | sampled).nonzero().squeeze(1)
    return SampledSpans(spans[rows], rows, weight[rows])


def _ranks(scores: Tensor, example: Tensor) -> Tensor:
    """Rank of each score within its example; the highest has rank 0. -> [N]"""
    order = scores.argsort(descending=True)
    order = order[example[order].argsort(stable=True)]
    counts = example.bincount()
    first = (counts.cumsum(0) - counts)[example[order]]
    return torch.empty_like(order).index_copy(0, order, torch.arange(len(order), device=order.device) - first)
