"""Several labels per span, always, and a decoder of its own that is stored with the model; it has span vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.decoding.spans import SpanDecoder, SpanScores
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.spans import boundary_vectors
from spanwise.schema import Schema
from spanwise.seam.batch import Batch
from spanwise.seam.config import SpanConfig
from spanwise.seam.decoder import NoRows
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Loss, OneStageModel, Output, Rescored, Templates, Tensors
from spanwise.seam.proposals import Negatives
from spanwise.seam.traits import Traits


class MultiLabelConfig(SpanConfig):
    nested: Literal[True] = True
    multi_label: Literal[True] = True

    def traits(self) -> Traits:
        return replace(super().traits(), span_vectors=True)

    def negatives_per_example(self) -> Negatives:
        return Negatives(40)

    def decoder(self, schema: Schema) -> SpanDecoder:
        return SpanDecoder(nested=True, multi_label=True)


class MultiLabel(OneStageModel[SpanScores[Tensor]]):
    """A sigmoid for every label of every span."""

    Config = MultiLabelConfig
    summary = "says of every span and label whether they belong together"

    def __init__(self, encoder: WordEncoder, config: MultiLabelConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        self.classify = nn.Linear(2 * encoder.dim, len(schema.entities))

    def score(
        self, encoded: Encoded, batch: Batch[Tensor], labels: Tensors | None = None
    ) -> Output[SpanScores[Tensor], NoRows]:
        return Output(SpanScores(self.classify(self.span_vectors(encoded, batch))), NoRows())

    def span_vectors(self, encoded: Encoded, batch: Batch[Tensor]) -> Tensor:
        return boundary_vectors(encoded.words, batch.proposals.spans)

    def templates(self) -> Templates[Tensor]:
        return Templates(self.classify.weight, self.classify.bias)

    def loss(
        self, output: Output[SpanScores[Tensor], NoRows], second: Rescored[NoRows, NoRows] | None, batch: Batch[Tensor]
    ) -> Loss:
        total = F.binary_cross_entropy_with_logits(output.scores.logits, batch.proposals.labels.float())
        return Loss(total, {"spans": total})
