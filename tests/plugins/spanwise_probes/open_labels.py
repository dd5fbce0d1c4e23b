"""Label sets that differ from batch to batch: spans and label texts are compared in one space, as GLiNER does."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from spanwise.decoding.spans import SpanDecoder, SpanScores
from spanwise.nn.classification import span_loss
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.labels import encode_texts
from spanwise.nn.spans import boundary_vectors
from spanwise.schema import Schema
from spanwise.seam.batch import Batch
from spanwise.seam.config import SpanConfig
from spanwise.seam.decoder import NoRows
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Loss, OneStageModel, Output, Rescored, Tensors
from spanwise.seam.proposals import Negatives
from spanwise.seam.traits import Traits


class OpenLabelsConfig(SpanConfig):
    multi_label: bool = True

    def traits(self) -> Traits:
        return replace(super().traits(), label_texts="descriptions", open_labels=True)

    def negatives_per_example(self) -> Negatives:
        return Negatives(40)

    def decoder(self, schema: Schema) -> SpanDecoder:
        return SpanDecoder(self.nested, self.multi_label)


class LabelVectors(NamedTuple):
    vectors: Tensor  # [C, d]


class OpenLabels(OneStageModel[SpanScores[Tensor]]):
    """Training asks for some of the labels, drawn anew for every batch; another label is not part of the batch."""

    Config = OpenLabelsConfig
    summary = "compares spans with label texts"
    config: OpenLabelsConfig
    seen: set[int]  # sizes of the label sets that it was trained on

    def __init__(self, encoder: WordEncoder, config: OpenLabelsConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        dim = encoder.dim
        self.spans = nn.Sequential(nn.Linear(2 * dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        self.labels = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.bias = nn.Parameter(torch.zeros(()))
        self.seen = set()

    def encode_labels(self, texts: object) -> LabelVectors:
        return LabelVectors(self.labels(encode_texts(self.encoder, texts).mean()))  # type: ignore[arg-type]

    def score(
        self, encoded: Encoded, batch: Batch[Tensor], labels: Tensors | None = None
    ) -> Output[SpanScores[Tensor], NoRows]:
        known = LabelVectors(*labels) if labels is not None else self.encode_labels(batch.labels)
        vectors = self.spans(boundary_vectors(encoded.words, batch.proposals.spans))
        return Output(SpanScores(vectors @ known.vectors.T + self.bias), NoRows())

    def training_loss(self, batch: Batch[Tensor], encoded: Encoded | None = None) -> Loss:
        number = batch.require_gold().annotated.shape[1]
        chosen = torch.randperm(number)[: 1 + int(torch.randint(number, ()))].sort().values
        self.seen.add(len(chosen))
        return super().training_loss(asking_for(batch, chosen), encoded)

    def loss(
        self, output: Output[SpanScores[Tensor], NoRows], second: Rescored[NoRows, NoRows] | None, batch: Batch[Tensor]
    ) -> Loss:
        annotated = batch.require_gold().annotated[batch.proposals.spans[:, 0]]
        total = span_loss(output.scores.logits, batch.proposals.labels, annotated, multi_label=True)
        return Loss(total, {"spans": total})


def asking_for(batch: Batch[Tensor], labels: Tensor) -> Batch[Tensor]:
    """The same batch with some of its labels alone. labels [c], rising"""
    gold, texts = batch.require_gold(), batch.labels
    assert texts is not None
    asked = torch.isin(gold.entities[:, 3], labels)
    entities = gold.entities[asked].clone()
    entities[:, 3] = torch.searchsorted(labels, entities[:, 3].contiguous())
    return replace(
        batch,
        proposals=replace(batch.proposals, labels=batch.proposals.labels[:, labels]),
        labels=texts.map(lambda part: part[labels]),
        gold=replace(gold, entities=entities, outermost=gold.outermost[asked], annotated=gold.annotated[:, labels]),
    )
