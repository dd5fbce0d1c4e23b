"""The seam between the models and the rest: what every model is, takes and gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from spanwise.document import first_come
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import Encoded, WordEncoder
from spanwise.schema import Schema


class ModelConfig(BaseModel):
    """A model's own options; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def fitted(self, data: DataFacts) -> Self:
        """The same options with what they leave open derived from the training data."""
        return self

    def predicts_nested(self) -> bool:
        """Whether predictions may overlap under these options."""
        return False

    def widest(self) -> int | None:
        """The most words of an entity that can be found under these options; None: any number."""
        return None


@dataclass(frozen=True, slots=True)
class DataFacts:
    """What a model's options may depend on."""

    widths: Mapping[int, int]  # how many entities are so many words wide
    nested: bool = False

    def covering_width(self, share: float) -> int:
        """The smallest width that covers this share of the entities."""
        total, seen = sum(self.widths.values()), 0
        for width in sorted(self.widths):
            seen += self.widths[width]
            if seen >= share * total:
                return width
        return 1


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model can do; a pairing with data that needs more is refused before anything is loaded."""

    nested: bool = False
    relations: bool = False
    tagger: bool = False  # tags words: the side of a bundle that α weighs
    needs_descriptions: bool = False


@dataclass(frozen=True, slots=True)
class Candidates:
    """The spans a model asks for: up to `max_width` words, in training at most `negatives` that are not gold."""

    max_width: int
    negatives: int


@dataclass(frozen=True, slots=True)
class Loss:
    """The weighted sum that is minimised, and the named terms it is made of."""

    total: Tensor
    terms: Mapping[str, Tensor]


class ScoredSpan(NamedTuple):
    """An entity in words of its example: half-open bounds, the label's index in the schema, its probability."""

    start: int
    end: int
    label: int
    score: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model found in one example."""

    spans: tuple[ScoredSpan, ...] = ()


class SpanModel(nn.Module, ABC):
    """One class per paper. It turns a batch into scores, scores into a loss, and scores into predictions."""

    Config: ClassVar[type[ModelConfig]]
    can: ClassVar[Abilities]
    summary: ClassVar[str]

    def __init__(self, encoder: WordEncoder, config: Any, schema: Schema) -> None:
        super().__init__()
        self.encoder = encoder
        self.config = config
        self.schema = schema

    @property
    def nested(self) -> bool:
        """Whether its predictions may overlap."""
        return bool(self.config.predicts_nested())

    @property
    def candidates(self) -> Candidates | None:
        """The spans that batches must carry for this model, if any."""
        return None

    def forward(self, batch: Batch) -> Any:
        return self.score(self.encoder(batch), batch)

    @abstractmethod
    def score(self, encoded: Encoded, batch: Batch) -> Any:
        """Scores as tensors (or a named tuple of tensors) from encoded words."""

    @abstractmethod
    def loss(self, scores: Any, batch: Batch) -> Loss: ...

    @abstractmethod
    def decode(self, scores: Any, batch: Batch, thresholds: Tensor) -> list[Prediction]:
        """One prediction per example; `thresholds` [labels] is the least probability that counts, per entity type."""


def without_overlaps(spans: Iterable[ScoredSpan]) -> list[ScoredSpan]:
    """Heuristic decoding (BL-NER, section 3.2.3): of spans that overlap, the most probable is kept."""
    return first_come(sorted(spans, key=lambda s: (-s.score, s.start, s.end, s.label)))
