"""Bundling (BL-NER, section 3.1.4): two models on one encoder, their losses summed with weight α.

It is a property of any model: a span model is bundled with a tagger, a tagger with a span model. The one that is
asked for reads the entities out (BL-SeqNER, BL-SpanNER); its partner only helps to train the shared encoder.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple

from torch import nn

from spanwise.models.base import Candidates, Least, Loss, Prediction, SpanModel
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import Encoded
from spanwise.nn.labels import PiecesOf


class BundledScores(NamedTuple):
    reader: Any
    partner: Any


class Bundled(SpanModel):
    """`alpha` weighs the tagger's loss and 1 - alpha the span model's, whichever of the two reads out."""

    def __init__(self, reader: SpanModel, partner: SpanModel, alpha: float) -> None:
        super().__init__(reader.encoder, reader.config, reader.schema)
        self.reader, self.partner, self.alpha = reader, partner, alpha
        self.can = reader.can  # type: ignore[misc]

    @property
    def nested(self) -> bool:
        return self.reader.nested

    @property
    def candidates(self) -> Candidates | None:
        """The reader's; those of a partner only in training, where alone it is scored."""
        return self.reader.candidates or (self.partner.candidates if self.training else None)

    @property
    def alone(self) -> SpanModel:
        return self.reader

    @property
    def reserved(self) -> int:
        return max(self.reader.reserved, self.partner.reserved)

    @property
    def levels(self) -> int:
        return max(self.reader.levels, self.partner.levels if self.training else 0)

    @property
    def pretrained(self) -> Iterable[nn.Parameter]:
        return chain(self.reader.pretrained, self.partner.pretrained)

    def read_labels(self, pieces_of: PiecesOf) -> None:
        for member in (self.reader, self.partner):
            member.read_labels(pieces_of)

    def settle(self) -> None:
        for member in (self.reader, self.partner):
            member.settle()

    def score(self, encoded: Encoded, batch: Batch) -> BundledScores:
        partner = self.partner.score(encoded, batch) if self.training else None
        return BundledScores(self.reader.score(encoded, batch), partner)

    def loss(self, scores: BundledScores, batch: Batch) -> Loss:
        """eq. 19"""
        read, helped = self.reader.loss(scores.reader, batch), self.partner.loss(scores.partner, batch)
        weight = self.alpha if self.reader.can.tagger else 1 - self.alpha
        total = weight * read.total + (1 - weight) * helped.total
        names = {name: f"partner {name}" if name in read.terms else name for name in helped.terms}
        return Loss(total, {**read.terms, **{names[name]: term for name, term in helped.terms.items()}})

    def decode(self, scores: BundledScores, batch: Batch, least: Least) -> list[Prediction]:
        return self.reader.decode(scores.reader, batch, least)

    def relate(self, batch: Batch, least: Least) -> list[Prediction]:
        return self.reader.relate(batch, least)
