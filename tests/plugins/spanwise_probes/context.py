"""Words of context that are read and never scored: the vector of a span is joined with that of all words around."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from spanwise.decoding.spans import SpanDecoder, SpanScores
from spanwise.nn.classification import class_count, span_loss
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.spans import boundary_vectors
from spanwise.schema import Schema
from spanwise.seam.batch import Batch
from spanwise.seam.config import SpanConfig
from spanwise.seam.decoder import NoRows
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Loss, OneStageModel, Output, Rescored, Tensors
from spanwise.seam.proposals import Negatives
from spanwise.seam.traits import Traits

CONTEXT = 6


class ContextConfig(SpanConfig):
    def traits(self) -> Traits:
        return replace(super().traits(), context=CONTEXT)

    def negatives_per_example(self) -> Negatives:
        return Negatives(40)

    def decoder(self, schema: Schema) -> SpanDecoder:
        return SpanDecoder(self.nested, self.multi_label)


class InContext(OneStageModel[SpanScores[Tensor]]):
    """Counts the words that it reads and does not score, and refuses candidates among them."""

    Config = ContextConfig
    summary = "classifies spans with the words around them"
    config: ContextConfig

    def __init__(self, encoder: WordEncoder, config: ContextConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        self.classify = nn.Linear(3 * encoder.dim, class_count(len(schema.entities), config.multi_label))
        self.context_words = 0

    def score(
        self, encoded: Encoded, batch: Batch[Tensor], labels: Tensors | None = None
    ) -> Output[SpanScores[Tensor], NoRows]:
        words, spans = batch.words, batch.proposals.spans
        self.context_words += int((words.present & ~words.scored).sum())
        example, start, end = spans.unbind(-1)
        if not (words.scored[example, start].all() and words.scored[example, end - 1].all()):
            raise AssertionError("a candidate has a word of context")
        around = encoded.words.masked_fill(~words.present.unsqueeze(-1), -torch.inf).amax(1)
        ends = boundary_vectors(encoded.words, spans)
        return Output(SpanScores(self.classify(torch.cat((ends, around[example]), dim=-1))), NoRows())

    def loss(
        self, output: Output[SpanScores[Tensor], NoRows], second: Rescored[NoRows, NoRows] | None, batch: Batch[Tensor]
    ) -> Loss:
        annotated = batch.require_gold().annotated[batch.proposals.spans[:, 0]]
        options = {"multi_label": self.config.multi_label}
        total = span_loss(output.scores.logits, batch.proposals.labels, annotated, **options)
        return Loss(total, {"spans": total})
