"""SpERT (Eberts and Ulges 2019, Span-based Joint Entity and Relation Extraction with Transformer Pre-training).

The features of a span are the maximum over its words, an embedding of its width and the sentence vector. The features
of a pair of entities are the two spans and the maximum over the words between them. SpERT is the baseline of SPAN and
STSN.

Beyond the paper, spans and pairs can be scored against the texts of labels and relations instead of one output per type
(nn.label_scorer).

A linear layer over concatenated parts equals the sum of one linear layer per part. So the sentence is projected once
per sentence and not once per span, and a span once per span and not once per pair.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from spanwise.decoding.pairs import PairRows
from spanwise.decoding.spans import SpanScores
from spanwise.models.joint import JointConfig, JointModel
from spanwise.nn.classification import class_count
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.label_scorer import LabelScorer, LabelVectors, RelationScorer, label_loss
from spanwise.nn.pairs import context_maxima, max_between
from spanwise.nn.spans import WidthEmbedding, max_pool_spans
from spanwise.schema import Schema
from spanwise.seam.batch import Batch, LabelTexts
from spanwise.seam.config import LabeledSpanConfig
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Output, Templates, Tensors
from spanwise.seam.traits import Traits


class SpERTConfig(JointConfig, LabeledSpanConfig):
    """Options of SpERT."""

    scorer: Literal["classes", "names", "descriptions"] = Field(
        "classes",
        description="score against fixed `classes`, or `names` or `descriptions`: takes new labels and relations",
    )

    def traits(self) -> Traits:
        return replace(super().traits(), span_vectors=not self.reads_labels, open_relations=self.reads_labels)


class Sentences(NamedTuple):
    """Encoded words and sentences."""

    words: Tensor  # [B, T, d]
    sentence: Tensor  # [B, d]


class LabeledSentences(NamedTuple):
    """The same with the vectors of the relations that are asked for."""

    words: Tensor  # [B, T, d]
    sentence: Tensor  # [B, d]
    relations: Tensor  # [R, d]


class SpERT(JointModel[Sentences | LabeledSentences]):
    """A linear span classifier and a linear pair classifier, or scorers of label texts."""

    Config = SpERTConfig
    summary = "classifies spans, then pairs of entities (Eberts and Ulges 2019); flat or nested, with relations"
    config: SpERTConfig

    def __init__(self, encoder: WordEncoder, config: SpERTConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        types, links = class_count(len(schema.entities), config.multi_label), len(schema.relations)
        dim, span_dim = encoder.dim, encoder.dim + config.width_dim
        self.widths = WidthEmbedding(config.resolved_max_width(), config.width_dim)
        self.dropout = nn.Dropout(config.dropout)
        if config.reads_labels:
            self.label_scorer = LabelScorer(span_dim, dim, config.dropout)
            self.relation_scorer = RelationScorer(dim, config.dropout)
            types = links = dim
        else:
            self.span = nn.Linear(span_dim, types)
        self.sentence = nn.Linear(dim, types, bias=False)
        self.head = nn.Linear(span_dim, links)
        self.tail = nn.Linear(span_dim, links, bias=False)
        self.context = nn.Linear(dim, links, bias=False)

    def encode_labels(self, texts: LabelTexts[Tensor]) -> Tensors:
        return self.label_scorer.encode(self.encoder, texts) if self.config.reads_labels else ()

    def encode_relations(self, texts: LabelTexts[Tensor]) -> Tensors:
        return self.relation_scorer.encode(self.encoder, texts) if self.config.reads_labels else ()

    def score(
        self, encoded: Encoded, batch: Batch[Tensor], labels: Tensors | None = None
    ) -> Output[SpanScores[Tensor], Sentences | LabeledSentences]:
        if not self.config.reads_labels:
            return super().score(encoded, batch)
        known, *relations = self._encode_texts(batch) if labels is None else labels
        features = LabeledSentences(*self.features(encoded, batch), relations[0] if relations else known[:0])
        reduced = self._project_spans(features, batch.proposals.spans, self.label_scorer.reduce)
        scores = self.label_scorer(reduced, encoded.words, batch.proposals.spans, LabelVectors(known))
        return Output(SpanScores(scores), features)

    def _encode_texts(self, batch: Batch[Tensor]) -> Tensors:
        """The vectors of the batch's labels and, if there are any, of its relations."""
        labels, relations = self.encode_labels(batch.require_label_texts()), batch.relation_labels
        return labels if relations is None else (*labels, *self.encode_relations(relations))

    def features(self, encoded: Encoded, batch: Batch[Tensor]) -> Sentences:
        return Sentences(encoded.words, encoded.sentence)

    def represent(self, words: Tensor, spans: Tensor, *, given: bool = False) -> Tensor:
        """e(s) = f(e_i … e_i+k) ∘ w_k+1   [N, d + w]"""
        pooled = max_pool_spans(words, spans, self.widths.widest, given=given)
        vectors: Tensor = self.dropout(torch.cat((pooled, self.widths(spans)), dim=-1))
        return vectors

    def score_spans(self, features: Sentences | LabeledSentences, spans: Tensor) -> Tensor:
        """softmax(Wˢ·(e(s) ∘ c) + bˢ), before the softmax"""
        return self._project_spans(features, spans, self.span)

    def _project_spans(self, features: Sentences | LabeledSentences, spans: Tensor, layer: nn.Linear) -> Tensor:
        """W·(e(s) ∘ c) + b, where `layer` has the columns of W for e(s)   [N, 1 + E], or [N, d] for label texts"""
        sentence = self.sentence(self.dropout(features.sentence))
        scores: Tensor = layer(self.represent(features.words, spans)) + sentence.index_select(0, spans[:, 0])
        return scores

    def span_vectors(self, encoded: Encoded, batch: Batch[Tensor]) -> Tensor:
        """e(s) ∘ c   [N, 2d + w]"""
        features, spans = self.features(encoded, batch), batch.proposals.spans
        sentence = features.sentence.index_select(0, spans[:, 0])
        return torch.cat((self.represent(features.words, spans), sentence), dim=-1)

    def templates(self) -> Templates[Tensor]:
        return Templates(torch.cat((self.span.weight, self.sentence.weight), dim=-1), self.span.bias)

    def score_pairs(self, features: Sentences | LabeledSentences, rows: PairRows[Tensor]) -> Tensor:
        """σ(Wʳ·(e(s₁) ∘ c(s₁, s₂) ∘ e(s₂)) + bʳ), before the sigmoid; relation texts are scored against Wʳ·(…) + bʳ"""
        vectors = self.represent(features.words, rows.spans, given=True)
        heads, tails = self.head(vectors), self.tail(vectors)  # [K, R]
        head, tail = rows.pairs.unbind(-1)
        context = max_between(context_maxima(features.words), rows.spans[head], rows.spans[tail])  # c(s₁, s₂)   [M, d]
        ends = heads.index_select(0, head) + tails.index_select(0, tail)
        scores: Tensor = ends + self.context(self.dropout(context))
        if isinstance(features, LabeledSentences):
            scores = self.relation_scorer(scores, features.relations)
        return scores

    def span_loss(self, logits: Tensor, labels: Tensor, annotated: Tensor) -> Tensor:
        return (label_loss if self.config.reads_labels else super().span_loss)(logits, labels, annotated)

    def pair_loss(self, logits: Tensor, relations: Tensor) -> Tensor:
        return (label_loss if self.config.reads_labels else super().pair_loss)(logits, relations)
