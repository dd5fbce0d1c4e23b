"""SpERT's formulas (Eberts and Ulges 2019, section 3), one span and one pair at a time."""

from __future__ import annotations

from typing import Any

import joint_oracle as paper
import torch
from joint_oracle import Labeled, Sentence, Span
from torch import Tensor


class SpERT:
    def __init__(self, module: Any) -> None:
        self.weights = paper.weights_of(module)

    def read(self, sentence: Sentence, tags: list[int] | None = None) -> Sentence:
        return sentence

    def represent(self, sentence: Sentence, span: Span) -> Tensor:
        """Eq. 1: e(s) = f(e_i, e_i+1, …, e_i+k) ∘ w_k+1"""
        return torch.cat((paper.maximum(sentence.words[slice(*span)]), paper.width(self.weights, span)))

    def span(self, sentence: Sentence, span: Span) -> Tensor:
        """Eqs. 2 and 3: Wˢ·xˢ + bˢ with xˢ = e(s) ∘ c"""
        vector = torch.cat((self.represent(sentence, span), sentence.cls))
        return paper.linear(self.weights, vector, "span", "sentence")

    def pair(self, sentence: Sentence, head: Span, tail: Span) -> Tensor:
        """Eqs. 4 to 6: Wʳ·xʳ + bʳ with xʳ = e(s1) ∘ c(s1, s2) ∘ e(s2)"""
        between = paper.context(sentence.words, head, tail)
        vector = torch.cat((self.represent(sentence, head), between, self.represent(sentence, tail)))
        return paper.linear(self.weights, vector, "head", "context", "tail")

    def chances(self, scores: Tensor) -> list[float]:
        """Of each relation type, for itself."""
        return [paper.sigmoid(score) for score in scores.tolist()]

    def loss(self, labeled: Labeled) -> dict[str, float]:
        """L = Lˢ + Lʳ: cross entropy over spans, binary cross entropy over types, then pairs."""
        spans = paper.span_loss(labeled.spans)
        rows = [paper.binary_cross_entropy(scores, held) / len(scores) for scores, held in labeled.pairs]
        pairs = sum(rows) / len(rows)
        return {"spans": spans, "pairs": pairs, "total": spans + pairs}
