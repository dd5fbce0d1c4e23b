"""The seam between the models and the rest: what every model is, takes and gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveInt
from torch import Tensor, nn

from spanwise.document import first_come
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import Encoded, WordEncoder
from spanwise.nn.labels import PiecesOf
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

    def reads_descriptions(self) -> bool:
        """Whether a model that reads descriptions of the labels does so under these options."""
        return True

    def takes_new_labels(self) -> bool:
        """Whether labels can be asked for that training did not see."""
        return False

    def widest(self) -> int | None:
        """The most words of an entity that can be found under these options; None: any number."""
        return None

    def least_relation(self) -> float:
        """The least probability of a relation under these options, where a call names none."""
        return 0.0


class SpanConfig(ModelConfig):
    """Options of models that look at spans up to a width."""

    max_width: PositiveInt | Literal["auto"] = "auto"  # ε; auto: covers `coverage` of the training entities
    coverage: float = Field(0.99, gt=0, le=1)
    dropout: float = Field(0.1, ge=0, lt=1)
    nested: bool = False

    def fitted(self, data: DataFacts) -> Self:
        if self.max_width != "auto":
            return self
        return self.model_copy(update={"max_width": data.covering_width(self.coverage)})

    def predicts_nested(self) -> bool:
        return self.nested

    def widest(self) -> int | None:
        return None if self.max_width == "auto" else self.max_width

    def settled_width(self) -> int:
        """ε as a number, which it is once the options are fitted."""
        if self.max_width == "auto":
            raise ValueError("max_width is still 'auto': call config.fitted(facts) before building the model")
        return self.max_width


@dataclass(frozen=True, slots=True)
class DataFacts:
    """What a model's options may depend on."""

    widths: Mapping[int, int]  # how many entities are so many words wide
    nested: bool = False
    double_tags: frozenset[tuple[str, str]] = frozenset()  # BIO tags of words in two entities, the preceding one first
    crowded: int = 0  # words in three or more entities

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
    double_tags: bool = False  # tags words of two entities with both, and no more than two
    needs_descriptions: bool = False


@dataclass(frozen=True, slots=True)
class Negatives:
    """How many candidates that are not gold a training sentence brings at most: so many, or so many for each gold."""

    number: int
    per_gold: bool = False

    def most(self, gold: int) -> int:
        return self.number * max(gold, 1) if self.per_gold else self.number


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a model asks for: spans of at most `max_width` words, and in training pairs of gold spans."""

    max_width: int
    negatives: Negatives
    pairs: Negatives | None = None
    relations: int = 0  # the number of relation types


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


class ScoredRelation(NamedTuple):
    """A relation between two spans of its prediction, by their indices."""

    head: int
    tail: int
    label: int
    score: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model found in one example."""

    spans: tuple[ScoredSpan, ...] = ()
    relations: tuple[ScoredRelation, ...] = ()


class Least(NamedTuple):
    """The least probability that counts, per type."""

    entities: Tensor  # [E]
    relations: Tensor  # [R]


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

    @property
    def alone(self) -> SpanModel:
        """The model that reads out, without what only helped to train it."""
        return self

    @property
    def reserved(self) -> int:
        """How many word pieces of the encoder's window the model needs for itself."""
        return 0

    @property
    def levels(self) -> int:
        """Below how many of the encoder's last blocks it wants to see the words as well."""
        return 0

    @property
    def pretrained(self) -> Iterable[nn.Parameter]:
        """What was pretrained and learns slowly."""
        parameters: Iterable[nn.Parameter] = self.encoder.transformer.parameters()
        return parameters

    def read_labels(self, pieces_of: PiecesOf) -> None:
        """Called once, with a tokenizer, before the model is used: for models that read about their labels."""

    def settle(self) -> None:
        """Compute what inference would compute once, so that it is saved with the weights."""

    def forward(self, batch: Batch) -> Any:
        return self.score(self.encoder(batch, self.levels), batch)

    @abstractmethod
    def score(self, encoded: Encoded, batch: Batch) -> Any:
        """Scores as tensors (or a named tuple of tensors) from encoded words."""

    @abstractmethod
    def loss(self, scores: Any, batch: Batch) -> Loss: ...

    @abstractmethod
    def decode(self, scores: Any, batch: Batch, least: Least) -> list[Prediction]:
        """One prediction per example."""

    def relate(self, batch: Batch, least: Least) -> list[Prediction]:
        """Relations between entities that are given: the batch's spans, with the labels they have there."""
        raise NotImplementedError(f"{type(self).__name__} does not predict relations")


def without_overlaps(spans: Iterable[ScoredSpan]) -> list[ScoredSpan]:
    """Heuristic decoding (BL-NER, section 3.2.3): of spans that overlap, the most probable is kept."""
    return first_come(sorted(spans, key=lambda s: (-s.score, s.start, s.end, s.label)))
