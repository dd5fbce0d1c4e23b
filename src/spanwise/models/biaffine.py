"""The biaffine classifier (Yu, Bohnet and Poesio 2020), a baseline of DSpERT.

A span is scored from its first and last word: h_sᵀ·U·h_e + W·[h_s; h_e] + b, with h_s and h_e from two feed-forward
layers. Training, boundary smoothing and decoding are the same as in DSpERT.

Beyond the paper, spans can be scored against label texts (nn.label_scorer): their vector is [h_s; h_e; h_s ⊙ h_e].
"""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor, nn

from spanwise.decoding.spans import SpanDecoder, SpanScores
from spanwise.models.smoothed import SmoothedSpanConfig, candidate_weights, smoothed_span_loss
from spanwise.nn.classification import class_count
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.label_scorer import LabelScorer, LabelVectors
from spanwise.nn.sampling import all_candidates
from spanwise.nn.spans import boundary_vectors
from spanwise.schema import Schema
from spanwise.seam.batch import Batch, LabelTexts
from spanwise.seam.config import Dimension
from spanwise.seam.decoder import NoRows
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Loss, OneStageModel, Output, Rescored, Tensors


class BiaffineConfig(SmoothedSpanConfig):
    """Options of the biaffine classifier."""

    hidden: Dimension = Field(150, description="units of the two feed-forward layers, for first and last words")

    def decoder(self, schema: Schema) -> SpanDecoder:
        return SpanDecoder(self.nested, self.multi_label, self.independent)


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
        if config.reads_labels:
            self.label_scorer = LabelScorer(3 * dim, encoder.dim, config.dropout)
            return
        self.product = nn.Parameter(torch.empty(classes, dim, dim))  # U
        nn.init.normal_(self.product, std=1 / dim)  # the product sums dim² terms: this keeps it below one
        self.linear_first, self.linear_last = nn.Linear(dim, classes), nn.Linear(dim, classes, bias=False)  # W, b

    def encode_labels(self, texts: LabelTexts[Tensor]) -> Tensors:
        return self.label_scorer.encode(self.encoder, texts) if self.config.reads_labels else ()

    def score(
        self, encoded: Encoded, batch: Batch[Tensor], labels: Tensors | None = None
    ) -> Output[SpanScores[Tensor], NoRows]:
        first, last = self.first(encoded.words), self.last(encoded.words)  # [B, T, h]
        spans = batch.proposals.spans
        if self.config.reads_labels:
            ends = boundary_vectors(torch.cat((first, last), dim=-1), spans)  # [N, 4h]
            begin, _, _, end = ends.chunk(4, dim=-1)
            reduced = self.label_scorer.reduce(torch.cat((begin, end, begin * end), dim=-1))
            known = LabelVectors(*(self.encode_labels(batch.require_label_texts()) if labels is None else labels))
            return Output(SpanScores(self.label_scorer(reduced, encoded.words, spans, known)), NoRows())
        return Output(SpanScores(self._class_scores(first, last, spans)), NoRows())

    def _class_scores(self, first: Tensor, last: Tensor, spans: Tensor) -> Tensor:
        """first, last [B, T, h]; spans [N, 3] -> [N, 1 + E]"""
        example, start, end = spans.unbind(-1)
        length = first.shape[1]
        begin, stop = example * length + start, example * length + end - 1
        cell = begin * length + end - 1
        # one class at a time, [N] each: all at once would be [C, B, T, T]
        products = [(first @ weights @ last.mT).flatten()[cell] for weights in self.product]
        begins: Tensor = self.linear_first(first).flatten(0, 1)[begin]
        ends: Tensor = self.linear_last(last).flatten(0, 1)[stop]
        return torch.stack(products, dim=-1) + begins + ends

    def loss(
        self,
        output: Output[SpanScores[Tensor], NoRows],
        second: Rescored[NoRows, NoRows] | None,
        batch: Batch[Tensor],
    ) -> Loss:
        sampled, weights = all_candidates(batch.proposals.spans), candidate_weights(batch, self.config)
        total = smoothed_span_loss(output.scores.logits, sampled, weights, batch, self.config)
        return Loss(total, {"spans": total})
