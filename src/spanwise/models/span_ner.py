"""SpanNER, the span-based model of BL-NER (Ji et al., Win-Win Cooperation), sections 3.1.3, 3.2.2 and 3.2.3.

Every span of at most ε words is a candidate and gets an entity type or None. In flat mode overlapping spans are
settled in favour of the more probable one; in nested mode all are kept.
"""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from pydantic import Field, PositiveInt
from torch import Tensor, nn

from spanwise.models.base import (
    Abilities,
    Candidates,
    DataFacts,
    Loss,
    ModelConfig,
    Prediction,
    ScoredSpan,
    SpanModel,
    without_overlaps,
)
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import Encoded, WordEncoder
from spanwise.nn.spans import Representation, SpanRepresentation
from spanwise.schema import Schema


class SpanNERConfig(ModelConfig):
    representation: Representation = "hybrid"
    max_width: PositiveInt | Literal["auto"] = "auto"  # ε; auto: covers `coverage` of the training entities
    coverage: float = Field(0.99, gt=0, le=1)
    negatives: int = Field(100, gt=0)
    width_dim: int = Field(25, gt=0)
    dropout: float = Field(0.1, ge=0, lt=1)
    nested: bool = False

    def fitted(self, data: DataFacts) -> SpanNERConfig:
        if self.max_width != "auto":
            return self
        return self.model_copy(update={"max_width": data.covering_width(self.coverage)})

    def predicts_nested(self) -> bool:
        return self.nested

    def widest(self) -> int | None:
        return None if self.max_width == "auto" else self.max_width


class SpanNER(SpanModel):
    """A classifier over span representations."""

    Config = SpanNERConfig
    can = Abilities(nested=True)
    summary = "classifies every span up to a width (BL-NER, section 3.1.3); flat or nested entities"
    config: SpanNERConfig

    def __init__(self, encoder: WordEncoder, config: SpanNERConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        self.spans = SpanRepresentation(config.representation, encoder.dim, self.max_width, config.width_dim)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(self.spans.dim, 1 + len(schema.entities))  # None, then the types

    @property
    def max_width(self) -> int:
        if self.config.max_width == "auto":
            raise ValueError("max_width is still 'auto': call config.fitted(facts) before building the model")
        return self.config.max_width

    @property
    def candidates(self) -> Candidates:
        return Candidates(self.max_width, self.config.negatives)

    def score(self, encoded: Encoded, batch: Batch) -> Tensor:
        vectors = self.spans(encoded, batch.spans)  # eqs. 13 to 15   [N, D]
        scores: Tensor = self.classify(self.dropout(vectors))  # eq. 16   [N, 1 + types]
        return scores

    def loss(self, scores: Tensor, batch: Batch) -> Loss:
        total = F.cross_entropy(scores, batch.span_labels)  # eqs. 17, 18
        return Loss(total, {"spans": total})

    def decode(self, scores: Tensor, batch: Batch, thresholds: Tensor) -> list[Prediction]:
        probability, label = scores.softmax(-1).max(-1)  # eq. 17
        entity = label > 0
        entity &= probability >= thresholds[(label - 1).clamp(min=0)]
        found: list[list[ScoredSpan]] = [[] for _ in range(batch.size)]
        rows = zip(batch.spans[entity].tolist(), label[entity].tolist(), probability[entity].tolist(), strict=True)
        for (row, start, end), kind, score in rows:
            found[row].append(ScoredSpan(start, end, kind - 1, score))
        return [Prediction(tuple(spans if self.config.nested else without_overlaps(spans))) for spans in found]
