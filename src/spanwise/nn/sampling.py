"""Negatives that training draws: which of them, and how many of their sentence's spans each speaks for."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spanwise.nn.batch import Batch


class Drawn(NamedTuple):
    """Some of a batch's candidates, and how many of the others each speaks for, itself included."""

    rows: Tensor  # [M]   of batch.spans
    weight: Tensor  # [M]


def stands_for(batch: Batch, widest: int) -> Tensor:
    """How many of its sentence's spans each candidate speaks for, so that a sum over a sample is one over all. -> [N]

    A sampled negative speaks for those that were not drawn as well; a span with two labels, which the batch holds
    twice, is one.
    """
    _, place, times = batch.spans.unique(dim=0, return_inverse=True, return_counts=True)
    once, row, negative = 1 / times[place], batch.spans[:, 0], batch.span_labels == 0
    words = batch.word_mask.sum(-1)
    width = words.clamp(max=widest)
    spans = words * width - width * (width - 1) / 2  # Σ over k = 1 … width of words - k + 1
    drawn, gold = (once.new_zeros(batch.size).index_add(0, row, once * kind) for kind in (negative, ~negative))
    return torch.where(negative, (spans - gold)[row] / drawn[row], once)


def draw_promising(batch: Batch, promise: Tensor, most: int) -> Drawn:
    """Every gold span and `most` negatives of each sentence: half of them the most promising, half drawn from the rest.

    Those that are hard to tell from entities are then always learnt from, and what is drawn speaks for what is not.
    promise [N], of a batch that holds all spans.
    """
    sentence, negative = batch.spans[:, 0], batch.span_labels == 0
    hard = negative & (_places(promise.masked_fill(~negative, -torch.inf), sentence) < most // 2)
    rest = negative & ~hard
    lots = torch.rand(len(promise), device=promise.device).masked_fill(~rest, -torch.inf)
    lucky = rest & (_places(lots, sentence) < most - most // 2)
    of_rest, of_lucky = (sentence[kind].bincount(minlength=batch.size) for kind in (rest, lucky))
    weight = torch.where(lucky, (of_rest / of_lucky)[sentence], 1.0)
    rows = (~rest | lucky).nonzero().squeeze(1)
    return Drawn(rows, weight[rows])


def _places(scores: Tensor, sentence: Tensor) -> Tensor:
    """The place of each among those of its sentence, from 0, which the highest has. -> [N]"""
    order = scores.argsort(descending=True)
    order = order[sentence[order].argsort(stable=True)]
    counts = sentence.bincount()
    first = (counts.cumsum(0) - counts)[sentence[order]]
    return torch.empty_like(order).index_copy(0, order, torch.arange(len(order), device=order.device) - first)
