"""SpanNER, the span-based model of BL-NER (Ji et al., Win-Win Cooperation), sections 3.1.3, 3.2.2 and 3.2.3.

Every span of at most ε words is a candidate and gets an entity type or None. In flat mode overlapping spans are
settled in favour of the more probable one; in nested mode all are kept.
"""

from __future__ import annotations

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from spanwise.models.base import (
    Abilities,
    Candidates,
    Least,
    Loss,
    Negatives,
    Prediction,
    SpanConfig,
    SpanModel,
)
from spanwise.models.decoding import entities_of, gathered
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import Encoded, WordEncoder
from spanwise.nn.spans import Representation, SpanRepresentation
from spanwise.schema import Schema


class SpanNERConfig(SpanConfig):
    representation: Representation = "hybrid"
    negatives: int = Field(100, gt=0)
    width_dim: int = Field(25, gt=0)


class SpanNER(SpanModel):
    """A classifier over span representations."""

    Config = SpanNERConfig
    can = Abilities(nested=True)
    summary = "classifies every span up to a width (BL-NER, section 3.1.3); flat or nested entities"
    config: SpanNERConfig

    def __init__(self, encoder: WordEncoder, config: SpanNERConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        width = config.settled_width()
        self.spans = SpanRepresentation(config.representation, encoder.dim, width, config.width_dim)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(self.spans.dim, 1 + len(schema.entities))  # None, then the types

    @property
    def candidates(self) -> Candidates:
        return Candidates(self.config.settled_width(), Negatives(self.config.negatives))

    def score(self, encoded: Encoded, batch: Batch) -> Tensor:
        vectors = self.spans(encoded, batch.spans)  # eqs. 13 to 15   [N, D]
        scores: Tensor = self.classify(self.dropout(vectors))  # eq. 16   [N, 1 + types]
        return scores

    def loss(self, scores: Tensor, batch: Batch) -> Loss:
        total = F.cross_entropy(scores, batch.span_labels)  # eqs. 17, 18
        return Loss(total, {"spans": total})

    def decode(self, scores: Tensor, batch: Batch, least: Least) -> list[Prediction]:
        found = entities_of(scores, batch.spans, least.entities, nested=self.config.nested)  # eq. 17
        return gathered(found, batch.size)
