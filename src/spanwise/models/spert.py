"""SpERT (Eberts and Ulges 2019, Span-based Joint Entity and Relation Extraction with Transformer Pre-training).

The features of a span are the maximum over its words, an embedding of its width and the sentence vector. The features
of a pair of entities are the two spans and the maximum over the words between them. SpERT is the baseline of SPAN and
STSN.

A linear layer over concatenated parts equals the sum of one linear layer per part. So the sentence is projected once
per sentence and not once per span, and a span once per span and not once per pair.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from spanwise.decoding.pairs import PairRows
from spanwise.models.joint import JointConfig, JointModel
from spanwise.nn.classification import class_count
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.pairs import context_maxima, max_between
from spanwise.nn.spans import WidthEmbedding, max_pool_spans
from spanwise.schema import Schema
from spanwise.seam.batch import Batch
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Templates
from spanwise.seam.traits import Traits


class SpERTConfig(JointConfig):
    """Options of SpERT."""

    def traits(self) -> Traits:
        return replace(super().traits(), span_vectors=True)


class Sentences(NamedTuple):
    """Encoded words and sentences."""

    words: Tensor  # [B, T, d]
    sentence: Tensor  # [B, d]


class SpERT(JointModel[Sentences]):
    """A linear span classifier and a linear pair classifier."""

    Config = SpERTConfig
    summary = "classifies spans, then pairs of entities (Eberts and Ulges 2019); flat or nested, with relations"

    def __init__(self, encoder: WordEncoder, config: SpERTConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        types, links = class_count(len(schema.entities), config.multi_label), len(schema.relations)
        self.widths = WidthEmbedding(config.resolved_max_width(), config.width_dim)
        self.dropout = nn.Dropout(config.dropout)
        self.span = nn.Linear(encoder.dim + config.width_dim, types)
        self.sentence = nn.Linear(encoder.dim, types, bias=False)
        self.head = nn.Linear(encoder.dim + config.width_dim, links)
        self.tail = nn.Linear(encoder.dim + config.width_dim, links, bias=False)
        self.context = nn.Linear(encoder.dim, links, bias=False)

    def features(self, encoded: Encoded, batch: Batch[Tensor]) -> Sentences:
        return Sentences(encoded.words, encoded.sentence)

    def represent(self, words: Tensor, spans: Tensor, *, given: bool = False) -> Tensor:
        """e(s) = f(e_i … e_i+k) ∘ w_k+1   [N, d + w]"""
        pooled = max_pool_spans(words, spans, self.widths.widest, given=given)
        vectors: Tensor = self.dropout(torch.cat((pooled, self.widths(spans)), dim=-1))
        return vectors

    def score_spans(self, features: Sentences, spans: Tensor) -> Tensor:
        """softmax(Wˢ·(e(s) ∘ c) + bˢ), before the softmax"""
        sentence = self.sentence(self.dropout(features.sentence))  # [B, 1 + E]
        scores: Tensor = self.span(self.represent(features.words, spans)) + sentence.index_select(0, spans[:, 0])
        return scores

    def span_vectors(self, encoded: Encoded, batch: Batch[Tensor]) -> Tensor:
        """e(s) ∘ c   [N, 2d + w]"""
        features, spans = self.features(encoded, batch), batch.proposals.spans
        sentence = features.sentence.index_select(0, spans[:, 0])
        return torch.cat((self.represent(features.words, spans), sentence), dim=-1)

    def templates(self) -> Templates[Tensor]:
        return Templates(torch.cat((self.span.weight, self.sentence.weight), dim=-1), self.span.bias)

    def score_pairs(self, features: Sentences, rows: PairRows[Tensor]) -> Tensor:
        """σ(Wʳ·(e(s₁) ∘ c(s₁, s₂) ∘ e(s₂)) + bʳ), before the sigmoid"""
        vectors = self.represent(features.words, rows.spans, given=True)
        heads, tails = self.head(vectors), self.tail(vectors)  # [K, R]
        head, tail = rows.pairs.unbind(-1)
        context = max_between(context_maxima(features.words), rows.spans[head], rows.spans[tail])  # c(s₁, s₂)   [M, d]
        ends = heads.index_select(0, head) + tails.index_select(0, tail)
        scores: Tensor = ends + self.context(self.dropout(context))
        return scores
