"""The biaffine classifier (Yu, Bohnet and Poesio 2020), which DSpERT is compared with.

A span is told by its first and its last word: h_sᵀ·U·h_e + W·[h_s; h_e] + b, with h_s and h_e from two feed-forward
layers. Trained, smoothed and decoded as DSpERT is.
"""

from __future__ import annotations

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from spanwise.models.base import Abilities, Candidates, Least, Loss, Prediction, SpanModel
from spanwise.models.decoding import entities_of, gathered
from spanwise.models.dspert import DeepSpanConfig
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import Encoded, WordEncoder
from spanwise.nn.sampling import stands_for
from spanwise.nn.smoothing import smoothed_loss, smoothed_targets
from spanwise.schema import Schema


class BiaffineConfig(DeepSpanConfig):
    hidden: PositiveInt = 150  # units of h_s and h_e


class Biaffine(SpanModel):
    """First and last words, multiplied."""

    Config = BiaffineConfig
    can = Abilities(nested=True)
    summary = "classifies spans by a product of their first and last word (Yu et al. 2020); flat or nested"
    config: BiaffineConfig

    def __init__(self, encoder: WordEncoder, config: BiaffineConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        dim, labels = config.hidden, len(schema.entities)
        self.first, self.last = (
            nn.Sequential(nn.Linear(encoder.dim, dim), nn.ReLU(), nn.Dropout(config.dropout)) for _ in range(2)
        )
        self.product = nn.Parameter(torch.empty(1 + labels, dim, dim))  # U
        nn.init.normal_(self.product, std=1 / dim)  # products of as many terms, squared, stay below one
        self.of_first, self.of_last = nn.Linear(dim, 1 + labels), nn.Linear(dim, 1 + labels, bias=False)  # W, b

    @property
    def candidates(self) -> Candidates:
        return self.config.candidates()

    def score(self, encoded: Encoded, batch: Batch) -> Tensor:
        """-> [N, 1 + E]"""
        first, last = self.first(encoded.words), self.last(encoded.words)  # [B, T, h]
        length = first.shape[1]
        begin, stop = batch.spans[:, 0] * length + batch.spans[:, 1], batch.spans[:, 2] - 1
        cell = begin * length + stop
        products = [(first @ weights @ last.mT).flatten()[cell] for weights in self.product]  # label by label: [N] each
        begins: Tensor = self.of_first(first).flatten(0, 1)[begin]
        ends: Tensor = self.of_last(last).flatten(0, 1)[batch.spans[:, 0] * length + stop]
        return torch.stack(products, dim=-1) + begins + ends

    def loss(self, scores: Tensor, batch: Batch) -> Loss:
        labels, widest = len(self.schema.entities), self.config.settled_width()
        targets = smoothed_targets(batch, labels, widest, self.config.boundary_smoothing())
        total = smoothed_loss(scores, targets, stands_for(batch, widest)) / batch.size
        return Loss(total, {"spans": total})

    def decode(self, scores: Tensor, batch: Batch, least: Least) -> list[Prediction]:
        found = entities_of(scores, batch.spans, least.entities, nested=self.config.nested)
        return gathered(found, batch.size)
