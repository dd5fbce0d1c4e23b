"""SPAN (Ji et al. 2020, Span-based Joint Entity and Relation Extraction with Attention-based Span-specific and
Contextual Semantic Representations), sections 3.1 to 3.4.

The features of a span are its first and last word, attention over its words (span-specific), attention over the
sentence (sentence-level), and its width. The features of a pair of entities are the two spans, reduced, attention over
the words between them (local), and attention over the sentence (sentence-level). Each of the four attentions can be
turned off as in Tables 3 and 4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from spanwise.decoding.pairs import Activation, PairRows, PairScores
from spanwise.decoding.spans import SpanScores
from spanwise.models.joint import JointConfig, JointModel
from spanwise.nn.attention import ContextualAttention, Variant, span_attention
from spanwise.nn.classification import class_count
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.feedforward import feed_forward
from spanwise.nn.packing import Packing
from spanwise.nn.pairs import context_maxima, max_between, words_between
from spanwise.nn.spans import WidthEmbedding, boundary_vectors, max_pool_spans
from spanwise.schema import Schema
from spanwise.seam.batch import Batch
from spanwise.seam.config import Dimension, Samples
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Loss, Output, Rescored, Templates
from spanwise.seam.proposals import Negatives
from spanwise.seam.traits import Traits


class SPANConfig(JointConfig):
    """The attention variant and its sizes, the ablations of Tables 3 and 4, and the weights of the two losses."""

    attention: Variant = Field(
        "multi-head",
        description="contextual attention: `multi-head`, `dot-product`, `general` or `additive` (section 3.3)",
    )
    heads: int = Field(8, gt=0, le=256, description="heads of multi-head attention")
    attention_dim: Dimension = Field(150, description="units of additive attention")
    context_dim: Dimension = Field(150, description="units of the reduced context vectors FFNN_F(F_r) and FFNN_T(T_r)")
    span_specific: bool = Field(True, description="span-specific attention; off (Table 3): the maximum over the span")
    span_context: bool = Field(True, description="sentence-level span context; off (Table 3): the sentence vector")
    pair_local: bool = Field(True, description="local pair context; off (Table 4): the maximum over the words between")
    pair_context: bool = Field(True, description="sentence-level pair context; off (Table 4): none")
    relation_activation: Literal["softmax", "sigmoid"] = Field(
        "softmax", description="`softmax` with a class for no relation (section 3.2) or `sigmoid` (loss of section 3.4)"
    )
    span_weight: float = Field(0.4, gt=0, lt=1, description="weight of the span loss; the pair loss gets the rest")
    negative_spans: Samples = Field(30, description="negative spans sampled per gold span")
    negative_pairs: Samples = Field(30, description="negative pairs sampled per gold pair")
    width_dim: Dimension = Field(50, description="size of the width embedding")
    dropout: float = Field(0.2, ge=0, lt=1, description="dropout of the task layers")
    relation_threshold: float | None = Field(  # type: ignore[assignment]
        None,
        ge=0,
        le=1,
        description="lowest probability of a predicted relation; null: 0 with softmax, 0.4 with sigmoid",
    )

    def traits(self) -> Traits:
        return replace(super().traits(), span_vectors=True)

    def resolved_relation_threshold(self) -> float:
        """With softmax, the default is 0: the most probable class is always predicted (section 3.2)."""
        if self.relation_threshold is not None:
            return self.relation_threshold
        return 0.0 if self.relation_activation == "softmax" else 0.4

    def activation(self) -> Activation:
        return self.relation_activation

    def negatives_per_example(self) -> Negatives:
        return Negatives(self.negative_spans, per_gold=True)

    def negative_pairs_per_example(self) -> Negatives:
        return Negatives(self.negative_pairs, per_gold=True)


class Sentence(NamedTuple):
    """B_S without and with X_0, the vector of [CLS]; the mask of the latter is false for padding."""

    words: Tensor  # [B, T, d]
    whole: Tensor  # [B, 1 + T, d]
    mask: Tensor  # [B, 1 + T]


class SPAN(JointModel[Sentence]):
    """Attention over the span, the words between two spans, and the sentence."""

    Config = SPANConfig
    summary = "spans and pairs with span-specific and contextual attention (Ji et al. 2020); with relations"
    config: SPANConfig

    def __init__(self, encoder: WordEncoder, config: SPANConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        dim, dropout = encoder.dim, config.dropout
        softmax = config.relation_activation == "softmax"
        span_dim = (4 if config.span_specific else 2) * dim + config.width_dim  # of R_s
        pair_dim = 2 * dim + (2 if config.pair_context else 1) * config.context_dim  # of R_r

        def ffnn(given: int, wanted: int, layers: int = 2) -> nn.Sequential:
            return feed_forward(given, dim, wanted, layers=layers, dropout=dropout)

        def attention(query: int) -> ContextualAttention:
            sizes = {"heads": config.heads, "hidden": config.attention_dim}
            return ContextualAttention(config.attention, query, dim, **sizes, dropout=dropout)

        self.dropout = nn.Dropout(dropout)
        self.widths = WidthEmbedding(config.resolved_max_width(), config.width_dim)
        self.significance = ffnn(dim, 1) if config.span_specific else None
        self.span_context = attention(dim) if config.span_context else None
        self.span = ffnn(span_dim, class_count(len(schema.entities), config.multi_label))
        self.reduce = ffnn(span_dim, dim)
        self.local = attention(2 * dim) if config.pair_local else None
        self.reduce_local = ffnn(dim, config.context_dim, layers=3)
        self.pair_context = attention(2 * dim) if config.pair_context else None
        self.reduce_context = ffnn(dim, config.context_dim, layers=3) if config.pair_context else None
        self.pair = ffnn(pair_dim, softmax + len(schema.relations))

    def features(self, encoded: Encoded, batch: Batch[Tensor]) -> Sentence:
        whole = torch.cat((encoded.sentence.unsqueeze(1), encoded.words), dim=1)
        return Sentence(encoded.words, whole, F.pad(batch.words.present, (1, 0), value=True))

    def represent(self, sentence: Sentence, spans: Tensor, *, given: bool = False) -> Tensor:
        """R_s = [T_s; F_s; H_s; W_j+1]   [N, 4d + w]"""
        if self.significance is None:
            own = query = max_pool_spans(sentence.words, spans, self.widths.widest, given=given)
        else:
            scores = self.significance(sentence.words).squeeze(-1)  # V_k = MLP(X_k)   [B, T]
            query = span_attention(sentence.words, scores, spans)  # F_s = Σ α_k·X_k   [N, d]
            own = torch.cat((query, boundary_vectors(sentence.words, spans)), dim=-1)  # H_s = [X_i; X_i+j]
        context = self._span_context(sentence, query, spans)
        vectors: Tensor = self.dropout(torch.cat((context, own, self.widths(spans)), dim=-1))
        return vectors

    def _span_context(self, sentence: Sentence, query: Tensor, spans: Tensor) -> Tensor:
        """T_s = Attention(F_s, B_S, B_S)   [N, d]"""
        if self.span_context is None:
            return sentence.whole[spans[:, 0], 0]
        packing = Packing.of(spans[:, 0], sentence.words.shape[0])
        keys, mask = sentence.whole[packing.source], sentence.mask[packing.source].unsqueeze(1)
        return packing.pack(self.span_context(packing.pad(query), keys, mask))

    def score_spans(self, features: Sentence, spans: Tensor) -> Tensor:
        """y_s = softmax(FFNN(R_s)), before the softmax"""
        scores: Tensor = self.span(self.represent(features, spans))
        return scores

    def span_vectors(self, encoded: Encoded, batch: Batch[Tensor]) -> Tensor:
        """The hidden layer of FFNN(R_s)   [N, d]"""
        features, spans = self.features(encoded, batch), batch.proposals.spans
        vectors: Tensor = self.span[:-1](self.represent(features, spans))
        return vectors

    def templates(self) -> Templates[Tensor]:
        weight, bias = self.span[-1].parameters()
        return Templates(weight, bias)

    def score_pairs(self, features: Sentence, rows: PairRows[Tensor]) -> Tensor:
        """y_r = softmax(FFNN(R_r)) with R_r = [H_r; FFNN_F(F_r); FFNN_T(T_r)], before the softmax"""
        reduced = self.reduce(self.represent(features, rows.spans, given=True))  # [K, d]
        head, tail = (rows.spans[side] for side in rows.pairs.unbind(-1))  # [M, 3]
        tuples = reduced.index_select(0, rows.pairs.flatten()).view(rows.pairs.shape[0], -1)  # H_r   [M, 2d]
        packing = Packing.of(head[:, 0], features.words.shape[0])
        query = packing.pad(tuples)
        parts = [tuples, self.reduce_local(self._local(features, query, packing, head, tail))]
        if self.pair_context is not None and self.reduce_context is not None:
            keys, mask = features.whole[packing.source], features.mask[packing.source].unsqueeze(1)
            parts.append(self.reduce_context(packing.pack(self.pair_context(query, keys, mask))))  # T_r
        scores: Tensor = self.pair(self.dropout(torch.cat(parts, dim=-1)))
        return scores

    def _local(self, sentence: Sentence, query: Tensor, packing: Packing, head: Tensor, tail: Tensor) -> Tensor:
        """F_r = Attention(H_r, B_c, B_c) over the words B_c between the spans; zeros if there are none   [M, d]"""
        if self.local is None:
            return max_between(context_maxima(sentence.words), head, tail)
        words = sentence.words[packing.source]
        first, last = words_between(head, tail)
        position = torch.arange(words.shape[1], device=first.device)
        inside = (position >= first.unsqueeze(1)) & (position <= last.unsqueeze(1))  # [M, T]
        return packing.pack(self.local(query, words, packing.pad(inside)))

    def loss(
        self,
        output: Output[SpanScores[Tensor], Sentence],
        second: Rescored[PairRows[Tensor], PairScores[Tensor]] | None,
        batch: Batch[Tensor],
    ) -> Loss:
        """L = 0.4·L_s + 0.6·L_r"""
        terms, weight = self.terms(output, second, batch), self.config.span_weight
        return Loss(weight * terms["spans"] + (1 - weight) * terms["pairs"], terms)

    def pair_loss(self, logits: Tensor, relations: Tensor) -> Tensor:
        if self.config.relation_activation == "sigmoid":
            return super().pair_loss(logits, relations)
        none = (relations.sum(-1, keepdim=True) == 0).to(relations.dtype)
        target = torch.cat((none, relations), dim=-1)  # a pair with several types splits the probability
        target = target / target.sum(-1, keepdim=True)
        return F.cross_entropy(logits, target)
