"""STSN's formulas (Ji et al., sections 3.2, 3.3 and 4.1), one word, span and pair at a time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import joint_oracle as paper
import torch
from joint_oracle import Labeled, Sentence, Span
from torch import Tensor

Entity = tuple[int, int, str]


class Read(NamedTuple):
    """Scores of the tags of each word, and the words as the two classifiers see them."""

    tags: list[Tensor]
    entities: list[Tensor]  # [H_E; label embedding]
    relations: list[Tensor]  # [H_R; label embedding]


class STSN:
    def __init__(self, module: Any) -> None:
        self.weights, self.options = paper.weights_of(module), module.config

    def read(self, sentence: Sentence, tags: list[int] | None = None) -> Read:
        """Gold tags in training, predicted ones (None) at inference."""
        labels, entities, relations = (
            [paper.linear(self.weights, word, f"views.{view}") for word in sentence.words] for view in range(3)
        )
        for layer in range(self.options.layers):
            labels, entities, relations = self.attention_layer(f"layers.{layer}", labels, entities, relations)
        scores = [paper.linear(self.weights, word, "tag") for word in labels]  # H_L·W^L + b^L
        if self.options.label_embedding:
            tags = [int(row.argmax()) for row in scores] if tags is None else tags
            beside = [self.weights["label.weight"][tag] for tag in tags]
            entities = [torch.cat(pair) for pair in zip(entities, beside, strict=True)]
            relations = [torch.cat(pair) for pair in zip(relations, beside, strict=True)]
        return Read(scores, entities, relations)

    def attention_layer(
        self, name: str, labels: list[Tensor], entities: list[Tensor], relations: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """[Layer] of section 3.2.1; without feedback E&R-L-A has H_L as query, key and value."""
        tasks = labels
        if self.options.feedback:  # H_C = [H_E; H_R]·W^C + b^C
            both = [torch.cat(pair) for pair in zip(entities, relations, strict=True)]
            tasks = [paper.linear(self.weights, word, f"{name}.tasks") for word in both]
        labels = self.unit(f"{name}.labels", labels, tasks)  # E&R-L-A
        return (
            labels,
            self.unit(f"{name}.entities", entities, labels),  # L-E-A
            self.unit(f"{name}.relations", relations, labels),  # L-R-A
        )

    def unit(self, name: str, queries: list[Tensor], memory: list[Tensor]) -> list[Tensor]:
        """Section 3.2.2: attention and FFN, a residual and layer normalization around each."""
        outputs = []
        for query in queries:
            informed = query + self.multi_head(name, query, memory)
            informed = self.normalized(f"{name}.attended", informed)
            hidden = paper.linear(self.weights, informed, f"{name}.feed_forward.0").clamp(min=0)
            fed = informed + paper.linear(self.weights, hidden, f"{name}.feed_forward.2")
            outputs.append(self.normalized(f"{name}.fed", fed))
        return outputs

    def multi_head(self, name: str, query: Tensor, memory: list[Tensor]) -> Tensor:
        """I = Concat(head_1 … head_h)·W^o with head_i = softmax(Q·Kᵀ / √(d/h))·V"""
        query = paper.linear(self.weights, query, f"{name}.query")
        keys = [paper.linear(self.weights, word, f"{name}.key") for word in memory]
        values = [paper.linear(self.weights, word, f"{name}.value") for word in memory]
        found = paper.multi_head(query, keys, values, self.options.heads)
        return paper.linear(self.weights, found, f"{name}.output")

    def normalized(self, name: str, vector: Tensor) -> Tensor:
        centred = vector - vector.sum() / len(vector)
        spread = math.sqrt(float((centred * centred).sum()) / len(vector) + 1e-5)
        return centred / spread * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def ends(self, words: list[Tensor], span: Span) -> Tensor:
        """E_s = [H'_i; H'_i+j; W_j+1]"""
        return torch.cat((words[span[0]], words[span[1] - 1], paper.width(self.weights, span)))

    def span(self, read: Read, span: Span) -> Tensor:
        """E_s·Wˢ + bˢ"""
        return paper.linear(self.weights, self.ends(read.entities, span), "span.first", "span.last", "span.width")

    def pair(self, read: Read, head: Span, tail: Span) -> Tensor:
        """E_r·Wʳ + bʳ with E_r = [E_s1; E_s2; C_r]"""
        words = read.relations
        vector = torch.cat((self.ends(words, head), self.ends(words, tail), paper.context(words, head, tail)))
        layers = [f"{end}.{part}" for end in ("head", "tail") for part in ("first", "last", "width")]
        return paper.linear(self.weights, vector, *layers, "context")

    def chances(self, scores: Tensor) -> list[float]:
        return [paper.sigmoid(score) for score in scores.tolist()]

    def loss(self, labeled: Labeled) -> dict[str, float]:
        """L = L_L + L_E + L_R; L_R is averaged over pairs only"""
        tags, spans = paper.mean_cross_entropy(labeled.tags), paper.span_loss(labeled.spans)
        rows = [paper.binary_cross_entropy(scores, held) for scores, held in labeled.pairs]
        pairs = sum(rows) / len(rows)
        return {"tags": tags, "spans": spans, "pairs": pairs, "total": tags + spans + pairs}


def extended_tags(length: int, entities: list[Entity]) -> list[str]:
    """Section 4.1: the preceding entity starts first or, if both start together, is longer; its label comes first.

    A word in more than two entities, of which the paper knows none, has the first two labels.
    """
    labels: list[list[str]] = [[] for _ in range(length)]
    for start, end, name in sorted(entities, key=lambda entity: (entity[0], entity[0] - entity[1])):
        for word in range(start, end):
            labels[word].append(f"B-{name}" if word == start else f"I-{name}")
    return ["/".join(both[:2]) or "O" for both in labels]
