"""SPAN's formulas (Ji et al. 2020, sections 3.1 to 3.4, ablated as in section 5), one span and one pair at a time."""

from __future__ import annotations

from typing import Any

import joint_oracle as paper
import torch
from joint_oracle import Labeled, Sentence, Span
from torch import Tensor


class SPAN:
    def __init__(self, module: Any) -> None:
        self.weights, self.options = paper.weights_of(module), module.config

    def read(self, sentence: Sentence, tags: list[int] | None = None) -> Sentence:
        return sentence

    def represent(self, sentence: Sentence, span: Span) -> Tensor:
        """R_s = [T_s; F_s; H_s; W_j+1]"""
        words = sentence.words[slice(*span)]  # B_s
        if self.options.span_specific:
            scores = [float(paper.feed_forward(self.weights, word, "significance")) for word in words]  # V_k
            specific = paper.weighed(paper.softmax(scores), words)  # F_s
            own = [specific, words[0], words[-1]]  # H_s = [X_i; X_i+j]
        else:
            specific = paper.maximum(words)
            own = [specific]
        if self.options.span_context:
            contextual = self.attention("span_context", specific, [sentence.cls, *sentence.words])  # T_s
        else:
            contextual = sentence.cls
        return torch.cat((contextual, *own, paper.width(self.weights, span)))

    def span(self, sentence: Sentence, span: Span) -> Tensor:
        """FFNN(R_s)"""
        return paper.feed_forward(self.weights, self.represent(sentence, span), "span")

    def pair(self, sentence: Sentence, head: Span, tail: Span) -> Tensor:
        """FFNN(R_r) with R_r = [H_r; FFNN_F(F_r); FFNN_T(T_r)]"""
        ends = [paper.feed_forward(self.weights, self.represent(sentence, end), "reduce") for end in (head, tail)]
        pair = torch.cat(ends)  # H_r
        if self.options.pair_local:
            between = [sentence.words[position] for position in paper.words_between(head, tail)]  # B_c
            local = self.attention("local", pair, between) if between else torch.zeros_like(sentence.cls)  # F_r
        else:
            local = paper.context(sentence.words, head, tail)
        parts = [pair, paper.feed_forward(self.weights, local, "reduce_local")]
        if self.options.pair_context:
            contextual = self.attention("pair_context", pair, [sentence.cls, *sentence.words])  # T_r
            parts.append(paper.feed_forward(self.weights, contextual, "reduce_context"))
        return paper.feed_forward(self.weights, torch.cat(parts), "pair")

    def attention(self, name: str, query: Tensor, keys: list[Tensor]) -> Tensor:
        """Attention(Q, K, K): Σ softmax(score(Q, K))·K"""
        if self.options.attention == "multi-head":
            return self.multi_head(name, query, keys)
        score = {"additive": self.additive, "dot-product": self.dot_product, "general": self.general}
        scores = [score[self.options.attention](name, query, key) for key in keys]
        return paper.weighed(paper.softmax(scores), keys)

    def multi_head(self, name: str, query: Tensor, keys: list[Tensor]) -> Tensor:
        """Q·Kᵀ / √d_K in each head, Q and K brought to one size by FFNNs first"""
        query = paper.feed_forward(self.weights, query, f"{name}.query")
        values = [paper.linear(self.weights, key, f"{name}.value") for key in keys]
        keys = [paper.feed_forward(self.weights, key, f"{name}.key") for key in keys]
        found = paper.multi_head(query, keys, values, self.options.heads)
        return paper.linear(self.weights, found, f"{name}.output")

    def additive(self, name: str, query: Tensor, key: Tensor) -> float:
        """vᵀ·tanh(W1·Q + W2·K)"""
        inner = paper.linear(self.weights, query, f"{name}.from_query")
        inner = torch.tanh(inner + paper.linear(self.weights, key, f"{name}.from_key"))
        return float(paper.linear(self.weights, inner, f"{name}.weigh"))

    def dot_product(self, name: str, query: Tensor, key: Tensor) -> float:
        """wᵀ·(Q ⊙ K), Q and K brought to one size by FFNNs first"""
        query = paper.feed_forward(self.weights, query, f"{name}.query")
        key = paper.feed_forward(self.weights, key, f"{name}.key")
        return float(paper.linear(self.weights, query * key, f"{name}.weigh"))

    def general(self, name: str, query: Tensor, key: Tensor) -> float:
        """Q·W·K"""
        return float(query @ self.weights[f"{name}.bilinear.weight"].T @ key)

    def chances(self, scores: Tensor) -> list[float]:
        """Softmax: of the best class if it is a type, and nothing for the others (relation filtration, section 3.2)."""
        if self.options.relation_activation == "sigmoid":
            return [paper.sigmoid(score) for score in scores.tolist()]
        chances = paper.softmax(scores.tolist())
        return [chance if chance == max(chances) else -1.0 for chance in chances[1:]]

    def loss(self, labeled: Labeled) -> dict[str, float]:
        """L = 0.4·L_s + 0.6·L_r"""
        spans = paper.span_loss(labeled.spans)
        rows = [self.pair_loss(scores, held) for scores, held in labeled.pairs]
        pairs = sum(rows) / len(rows)
        return {"spans": spans, "pairs": pairs, "total": 0.4 * spans + 0.6 * pairs}

    def pair_loss(self, scores: Tensor, held: set[int]) -> float:
        """Cross entropy with None as class 0, or binary cross entropy; a pair of several types gives each its share."""
        if self.options.relation_activation == "sigmoid":
            return paper.binary_cross_entropy(scores, held) / len(scores)
        kinds = [1 + kind for kind in held] or [0]
        return sum(paper.cross_entropy([scores], [kind]) for kind in kinds) / len(kinds)
