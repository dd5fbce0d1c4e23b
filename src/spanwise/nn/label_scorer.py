"""Scores of spans and of pairs against label texts: two towers on one encoder, so that labels are a model's input."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.nn.labels import encode_texts
from spanwise.seam.batch import LabelTexts
from spanwise.seam.encoding import Encoder

PRIOR = -6.0  # first logit of every label: entities are rare among spans
PAIR_PRIOR = -3.0  # first logit of every relation: pairs are of entities, and fewer


class LabelVectors(NamedTuple):
    """One vector per label."""

    vectors: Tensor  # [C, d]


class LabelScorer(nn.Module):
    """Scores of spans against encoded label texts: s·l / √d + u(s) + b.

    l is the mean of the label's token vectors plus an MLP over it. s is the mean of the span's word vectors plus an MLP
    over this mean and the model's own span vector. Both means come from one encoder, so that similar texts score high
    from the start. u(s) says how much the span looks like an entity of any kind.
    """

    def __init__(self, span_dim: int, dim: int, dropout: float) -> None:
        super().__init__()
        self.reduce = nn.Linear(span_dim, dim)
        self.reduce_mean = nn.Linear(dim, dim, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.span = nn.Linear(dim, dim)
        self.label = label_tower(dim, dropout)
        self.entity = nn.Linear(dim, 1)
        self.scale = nn.Parameter(torch.tensor(dim**-0.5))
        self.bias = nn.Parameter(torch.tensor([PRIOR]))

    def encode(self, encoder: Encoder, texts: LabelTexts[Tensor]) -> LabelVectors:
        """l of every label."""
        means = encode_texts(encoder, texts).mean()
        return LabelVectors(means + self.label(means))

    def forward(self, reduced: Tensor, words: Tensor, spans: Tensor, labels: LabelVectors) -> Tensor:
        """reduced [N, d]: the model's span vectors through `reduce`; words [B, T, d]; spans [N, 3] -> [N, C]"""
        sums = prefix_sums(words)
        means = span_means(sums, spans)
        # words are projected once, not once per span: W·mean(x) = mean(W·x)
        hidden = F.gelu(reduced + span_means(prefix_sums(self.reduce_mean(words)), spans))
        vectors = means + self.span(self.dropout(hidden))
        scores: Tensor = (vectors * self.scale) @ labels.vectors.T + self.entity(hidden) + self.bias
        return scores


class RelationVectors(NamedTuple):
    """One vector per relation."""

    relations: Tensor  # [R, d]


class RelationScorer(nn.Module):
    """Scores of pairs of spans against encoded relation texts: p·r / √d + u(p) + b.

    r is the mean of the text's token vectors plus an MLP over it. p is an MLP over the model's own pair vector, whose
    first layer the model computes. u(p) says how much the pair looks like a relation of any kind.
    """

    def __init__(self, dim: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.pair = nn.Linear(dim, dim)
        self.label = label_tower(dim, dropout)
        self.related = nn.Linear(dim, 1)
        self.scale = nn.Parameter(torch.tensor(dim**-0.5))
        self.bias = nn.Parameter(torch.tensor([PAIR_PRIOR]))

    def encode(self, encoder: Encoder, texts: LabelTexts[Tensor]) -> RelationVectors:
        """r of every relation."""
        means = encode_texts(encoder, texts).mean()
        return RelationVectors(means + self.label(means))

    def forward(self, reduced: Tensor, relations: Tensor) -> Tensor:
        """reduced [M, d]: the model's pair vectors through its first layer; relations [R, d] -> [M, R]"""
        hidden = F.gelu(reduced)
        vectors = self.pair(self.dropout(hidden))
        scores: Tensor = (vectors * self.scale) @ relations.T + self.related(hidden) + self.bias
        return scores


def label_tower(dim: int, dropout: float) -> nn.Sequential:
    """The MLP over the mean of a label's token vectors."""
    return nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(dim, dim))


def prefix_sums(words: Tensor) -> Tensor:
    """Sums over the words before each word. [B, T, d] -> [B, T + 1, d]"""
    return F.pad(words.cumsum(1), (0, 0, 1, 0))


def span_means(sums: Tensor, spans: Tensor) -> Tensor:
    """Means over the words of spans. sums [B, T + 1, d]; spans [N, 3] -> [N, d]"""
    flat, row = sums.flatten(0, 1), spans[:, 0] * sums.shape[1]
    total = flat.index_select(0, row + spans[:, 2]) - flat.index_select(0, row + spans[:, 1])
    return total / (spans[:, 2] - spans[:, 1]).unsqueeze(-1)


def label_loss(logits: Tensor, labels: Tensor, annotated: Tensor | None = None) -> Tensor:
    """Binary cross entropy summed over spans and labels, divided by the number of gold cells.

    logits, labels [N, C]; annotated [N, C], false where a label is unknown
    """
    each = F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype), reduction="none")
    return (each if annotated is None else each * annotated).sum() / gold_count(labels)


def gold_count(labels: Tensor) -> Tensor:
    """The number of gold cells, at least one. labels [N, C] -> []"""
    return labels.sum().clamp(min=1)
