"""Attention within spans, and contextual attention over a sentence in four variants (SPAN, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.errors import RecipeError
from spanwise.nn.feedforward import feed_forward
from spanwise.nn.packing import Packing, largest

Variant = Literal["multi-head", "dot-product", "general", "additive"]
CELLS = 2**24  # values per block of additive attention, which builds a vector per query and key


def span_attention(words: Tensor, scores: Tensor, spans: Tensor) -> Tensor:
    """Sum of each span's words, weighted by the softmax of their scores within the span.

    Only the scores are gathered per span, so each softmax is numerically stable. One matrix product per example sums
    the words, so no tensor of [spans, words, dim] is built.
    words [B, T, d]; scores [B, T]; spans [N, 3], grouped by example -> [N, d]
    """
    if not torch.compiler.is_exporting() and not len(spans):
        return words.new_zeros(0, words.shape[-1])
    length = words.shape[1]
    example, start, end = spans.unbind(-1)
    offset = torch.arange(largest(end - start), device=spans.device)
    position = start.unsqueeze(1) + offset  # [N, W]
    inside = position < end.unsqueeze(1)
    position = position.clamp(max=length - 1)
    weights = scores.float()[example.unsqueeze(1), position].masked_fill(~inside, -torch.inf).softmax(-1)
    packing = Packing.of(example, words.shape[0])
    spread = weights.new_zeros(packing.source.shape[0], packing.slots, length)
    cells = (packing.line.unsqueeze(1).expand_as(position), packing.slot.unsqueeze(1).expand_as(position), position)
    spread = spread.index_put(cells, weights, accumulate=True)  # positions past the text add 0 to the last word
    return packing.pack(spread @ words.index_select(0, packing.source))


def multi_head(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, heads: int) -> Tensor:
    """softmax(Q·Kᵀ / √(d / h))·V in each of h heads, concatenated.

    query [B, Q, d]; key, value [B, K, d]; mask [B, 1 or Q, K] -> [B, Q, d]
    """
    q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in (query, key, value))  # [B, h, L, d / h]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.unsqueeze(1)).transpose(1, 2).flatten(2)


def check_heads(dim: int, heads: int) -> None:
    if dim % heads:
        raise RecipeError(
            f"{heads} heads do not divide the encoder's {dim} units; set model.heads to a divisor of {dim}."
        )


def attend(scores: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Σ softmax(scores)·values over the keys that the mask allows; zeros if it allows none.

    scores, mask [B, Q, K]; values [B, K, d] -> [B, Q, d]
    """
    seen = mask.any(-1, keepdim=True)
    weights = scores.float().masked_fill(~mask & seen, -torch.inf).softmax(-1)  # CPU autocast would run softmax in bf16
    return (weights @ values) * seen


class ContextualAttention(nn.Module):
    """Attention(Q, K, K): one vector per query, a sum of the keys weighted by the variant's score function."""

    def __init__(self, variant: Variant, query: int, key: int, *, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.variant = variant
        self.heads = heads
        if variant in ("multi-head", "dot-product"):  # two-layer FFNNs project both to the same size
            self.query = feed_forward(query, key, key, layers=2, dropout=dropout)
            self.key = feed_forward(key, key, key, layers=2, dropout=dropout)
        if variant == "multi-head":
            check_heads(key, heads)
            self.value, self.output = nn.Linear(key, key), nn.Linear(key, key)
        elif variant == "dot-product":
            self.weigh = nn.Linear(key, 1, bias=False)
        elif variant == "general":
            self.bilinear = nn.Linear(query, key, bias=False)
        else:
            self.from_query, self.from_key = nn.Linear(query, hidden), nn.Linear(key, hidden, bias=False)
            self.weigh = nn.Linear(hidden, 1, bias=False)

    def forward(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """query [B, Q, dq]; keys [B, K, d]; mask [B, 1 or Q, K], true where a query may attend to a key -> [B, Q, d]"""
        if self.variant == "multi-head":
            return self._multi_head(query, keys, mask)
        score: Callable[[Tensor, Tensor], Tensor] = {
            "dot-product": self._dot_product,
            "general": self._general,
            "additive": self._additive,
        }[self.variant]
        return attend(score(query, keys), keys, mask)

    def _multi_head(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """softmax(Q·Kᵀ / √dₖ)·V in each head (Vaswani et al. 2017)"""
        seen = mask.any(-1, keepdim=True)
        found = multi_head(self.query(query), self.key(keys), self.value(keys), mask | ~seen, self.heads)
        merged: Tensor = self.output(found)
        return merged * seen

    def _dot_product(self, query: Tensor, keys: Tensor) -> Tensor:
        """w·(Q ⊙ K), with the weights multiplied into the queries"""
        scores: Tensor = (self.query(query) * self.weigh.weight[0]) @ self.key(keys).transpose(1, 2)
        return scores

    def _general(self, query: Tensor, keys: Tensor) -> Tensor:
        """Q·W·K"""
        scores: Tensor = self.bilinear(query) @ keys.transpose(1, 2)
        return scores

    def _additive(self, query: Tensor, keys: Tensor) -> Tensor:
        """v·tanh(W₁·Q + W₂·K), one block of queries at a time"""
        q, k = self.from_query(query), self.from_key(keys).unsqueeze(1)  # [B, Q, a], [B, 1, K, a]
        if torch.compiler.is_exporting():
            return self._weigh(q, k)
        block_size = max(1, CELLS // max(k.numel(), 1))
        return torch.cat([self._weigh(part, k) for part in q.split(block_size, dim=1)], dim=1)

    def _weigh(self, q: Tensor, k: Tensor) -> Tensor:
        """[B, Q, a], [B, 1, K, a] -> [B, Q, K]"""
        scores: Tensor = self.weigh(torch.tanh(q.unsqueeze(2) + k)).squeeze(-1)
        return scores
