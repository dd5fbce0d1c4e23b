"""SpERT (Eberts and Ulges 2019, Span-based Joint Entity and Relation Extraction with Transformer Pre-training).

A span is the maximum over its words, an embedding of its width and the sentence's vector; a pair of entities is the
two spans and the maximum over the words between them. The baseline of SPAN and STSN.

A linear layer over concatenated parts is the sum of one layer per part. So the sentence's share is computed once per
sentence, a span's share in its pairs once per span, and nothing is laid side by side.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from spanwise.models.base import Abilities
from spanwise.models.joint import Ends, JointConfig, JointModel
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import Encoded, WordEncoder
from spanwise.nn.pairs import context_max
from spanwise.nn.pooling import Maxima
from spanwise.nn.spans import WidthEmbedding, max_over
from spanwise.schema import Schema


class SpERT(JointModel):
    """A linear classifier of spans and one of pairs."""

    Config = JointConfig
    can = Abilities(nested=True, relations=True)
    summary = "classifies spans, then pairs of entities (Eberts and Ulges 2019); flat or nested, with relations"
    config: JointConfig

    def __init__(self, encoder: WordEncoder, config: JointConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        types, links = 1 + len(schema.entities), len(schema.relations)
        self.widths = WidthEmbedding(config.settled_width(), config.width_dim)
        self.dropout = nn.Dropout(config.dropout)
        self.span = nn.Linear(encoder.dim + config.width_dim, types)
        self.sentence = nn.Linear(encoder.dim, types, bias=False)
        self.head = nn.Linear(encoder.dim + config.width_dim, links)
        self.tail = nn.Linear(encoder.dim + config.width_dim, links, bias=False)
        self.context = nn.Linear(encoder.dim, links, bias=False)

    def see(self, encoded: Encoded, batch: Batch) -> Encoded:
        return encoded

    def represent(self, seen: Encoded, spans: Tensor) -> Tensor:
        """e(s) = f(e_i … e_i+k) ∘ w_k+1   [N, d + w]"""
        pooled = max_over(seen.words, spans, self.widths.widest)
        vectors: Tensor = self.dropout(torch.cat((pooled, self.widths(spans)), dim=-1))
        return vectors

    def score_spans(self, seen: Encoded, spans: Tensor) -> Tensor:
        """softmax(Wˢ·(e(s) ∘ c) + bˢ), before the softmax"""
        sentence = self.sentence(self.dropout(seen.sentence))  # [B, 1 + E]
        scores: Tensor = self.span(self.represent(seen, spans)) + sentence.index_select(0, spans[:, 0])
        return scores

    def see_pairs(self, seen: Encoded, spans: Tensor) -> Ends:
        vectors = self.represent(seen, spans)
        return Ends(spans, self.head(vectors), self.tail(vectors), Maxima(seen.words, seen.words.shape[1]))

    def score_pairs(self, seen: Ends, pairs: Tensor) -> Tensor:
        """σ(Wʳ·(e(s₁) ∘ c(s₁, s₂) ∘ e(s₂)) + bʳ), before the sigmoid"""
        head, tail = pairs.unbind(-1)
        context = self.dropout(context_max(seen.words, seen.spans[head], seen.spans[tail]))  # [M, d]
        ends = seen.heads.index_select(0, head) + seen.tails.index_select(0, tail)
        scores: Tensor = ends + self.context(context)
        return scores
