"""Bundling (BL-NER, section 3.1.4): two models on one encoder, their losses summed with weight α.

Any model can be bundled: a span model with a tagger, a tagger with a span model. Both are trained; either can be the
reader, which predicts the entities (BL-SeqNER, BL-SpanNER).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Literal

from torch import Tensor, nn

from spanwise.seam.batch import Batch
from spanwise.seam.module import Loss, SpanModel, Trainable
from spanwise.seam.traits import Traits


class Bundle(Trainable):
    """`alpha` is the weight of the tagger's loss and 1 - alpha of the span model's, whichever is the reader."""

    def __init__(self, reader: SpanModel, partner: SpanModel, alpha: float) -> None:
        super().__init__()
        self.encoder = reader.encoder
        self.reader, self.partner, self.alpha = reader, partner, alpha

    @property
    def pretrained(self) -> Iterable[nn.Parameter]:
        return chain(self.reader.pretrained, self.partner.pretrained)

    def training_loss(self, batch: Batch[Tensor]) -> Loss:
        """eq. 19"""
        encoded = self.encoder(batch.words, _max_hidden_states(self.reader.traits, self.partner.traits))
        helped = self.partner.training_loss(batch.for_partner(), encoded)
        read = self.reader.training_loss(batch, encoded)
        weight = self.alpha if self.reader.traits.tagger else 1 - self.alpha
        total = weight * read.total + (1 - weight) * helped.total
        names = {name: f"partner {name}" if name in read.terms else name for name in helped.terms}
        return Loss(total, {**read.terms, **{names[name]: term for name, term in helped.terms.items()}})


def _max_hidden_states(one: Traits, other: Traits) -> int | Literal["all"]:
    """The larger number of hidden states."""
    if one.hidden_states == "all" or other.hidden_states == "all":
        return "all"
    return max(one.hidden_states, other.hidden_states)
