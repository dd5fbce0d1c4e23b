"""Shallow aggregation of words to spans: the four functions of DSpERT's appendix A."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from spanwise.nn.attention import span_attention
from spanwise.nn.spans import max_pool_spans

AggregationKind = Literal["max", "mean", "multiplicative", "additive"]


class Aggregation(nn.Module):
    """One vector per span, from its words only.

    The two attentions score each word once and take a softmax over the span's words. Multiplicative:
    softmax(uᵀ·tanh(W·h)). Additive, with a learned vector v concatenated to every word: softmax(uᵀ·tanh(W·[h; v])).
    """

    def __init__(self, how: AggregationKind, dim: int, widest: int) -> None:
        super().__init__()
        self.how = how
        self.widest = widest
        if how in ("multiplicative", "additive"):
            self.beside = nn.Parameter(torch.empty(dim)) if how == "additive" else None  # v
            if self.beside is not None:
                nn.init.normal_(self.beside, std=0.02)
            self.mix = nn.Linear(dim if self.beside is None else 2 * dim, dim, bias=False)  # W
            self.weigh = nn.Linear(dim, 1, bias=False)  # u

    def forward(self, words: Tensor, spans: Tensor) -> Tensor:
        """words [B, T, d]; spans [N, 3], grouped by example -> [N, d]"""
        if self.how == "max":
            return max_pool_spans(words, spans, self.widest)
        return span_attention(words, self._scores(words), spans)

    def _scores(self, words: Tensor) -> Tensor:
        """[B, T, d] -> [B, T]"""
        if self.how == "mean":
            return words.new_zeros(words.shape[:2])
        seen = words if self.beside is None else torch.cat((words, self.beside.expand_as(words)), dim=-1)
        scores: Tensor = self.weigh(torch.tanh(self.mix(seen))).squeeze(-1)
        return scores
