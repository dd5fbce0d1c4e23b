"""The biaffine classifier (Yu, Bohnet and Poesio 2020), a baseline of DSpERT.

A span is scored from its first and last word: h_sᵀ·U·h_e + W·[h_s; h_e] + b, with h_s and h_e from two feed-forward
layers. Training, boundary smoothing and decoding are the same as in DSpERT.
"""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn

from spanwise.decoding.spans import SpanDecoder, SpanScores
from spanwise.models.smoothed import SmoothedSpanConfig, candidate_weights, smoothed_span_loss
from spanwise.nn.classification import class_count
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.sampling import all_candidates
from spanwise.schema import Schema
from spanwise.seam.batch import Batch
from spanwise.seam.config import Dimension
from spanwise.seam.decoder import NoRows
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Loss, OneStageModel, Output, Rescored, Tensors


class BiaffineConfig(SmoothedSpanConfig):
    """Options of the biaffine classifier."""

    hidden: Dimension = Field(150, description="units of the two feed-forward layers, for first and last words")

    def decoder(self, schema: Schema) -> SpanDecoder:
        return SpanDecoder(self.nested, self.multi_label)


class Biaffine(OneStageModel[SpanScores[Tensor]]):
    """Biaffine classifier of spans from their first and last words."""

    Config = BiaffineConfig
    summary = "classifies spans by a product of their first and last word (Yu et al. 2020); flat or nested"
    config: BiaffineConfig

    def __init__(self, encoder: WordEncoder, config: BiaffineConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        dim, classes = config.hidden, class_count(len(schema.entities), config.multi_label)
        self.first, self.last = (
            nn.Sequential(nn.Linear(encoder.dim, dim), nn.ReLU(), nn.Dropout(config.dropout)) for _ in range(2)
        )
        self.product = nn.Parameter(torch.empty(classes, dim, dim))  # U
        nn.init.normal_(self.product, std=1 / dim)  # the product sums dim² terms: this keeps it below one
        self.linear_first, self.linear_last = nn.Linear(dim, classes), nn.Linear(dim, classes, bias=False)  # W, b

    def score(
        self, encoded: Encoded, batch: Batch[Tensor], labels: Tensors | None = None
    ) -> Output[SpanScores[Tensor], NoRows]:
        first, last = self.first(encoded.words), self.last(encoded.words)  # [B, T, h]
        example, start, end = batch.proposals.spans.unbind(-1)
        length = first.shape[1]
        begin, stop = example * length + start, example * length + end - 1
        cell = begin * length + end - 1
        # one class at a time, [N] each: all at once would be [C, B, T, T]
        products = [(first @ weights @ last.mT).flatten()[cell] for weights in self.product]
        begins: Tensor = self.linear_first(first).flatten(0, 1)[begin]
        ends: Tensor = self.linear_last(last).flatten(0, 1)[stop]
        return Output(SpanScores(torch.stack(products, dim=-1) + begins + ends), NoRows())  # [N, 1 + E]

    def loss(
        self,
        output: Output[SpanScores[Tensor], NoRows],
        second: Rescored[NoRows, NoRows] | None,
        batch: Batch[Tensor],
    ) -> Loss:
        sampled, weights = all_candidates(batch.proposals.spans), candidate_weights(batch, self.config)
        total = smoothed_span_loss(output.scores.logits, sampled, weights, batch, self.config)
        return Loss(total, {"spans": total})
