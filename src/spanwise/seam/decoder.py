"""The decoder interface, from scores to predictions. Decoders are pure numpy code and work with any runner."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np

from spanwise.schema import Schema
from spanwise.seam.batch import Array, Batch, Floats, Ints
from spanwise.seam.component import Component


class ScoredSpan(NamedTuple):
    """An entity: half-open bounds in words of its example, the label's index in the schema, and its probability."""

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
    """The predicted entities and relations of one example."""

    spans: tuple[ScoredSpan, ...] = ()
    relations: tuple[ScoredRelation, ...] = ()


class ScoreThresholds(NamedTuple):
    """The lowest probability of a prediction, per type, and the temperatures that logits are divided by."""

    entities: Floats  # [E]
    relations: Floats  # [R]
    temperature: float = 1.0  # of entities
    relation_temperature: float = 1.0


class PredictedSpans(NamedTuple):
    """K entities of a batch, ordered by example."""

    spans: Ints  # [K, 3]   example, start, end
    labels: Ints  # [K]
    scores: Floats  # [K]

    def take(self, rows: Ints | Array) -> PredictedSpans:
        return PredictedSpans(self.spans[rows], self.labels[rows], self.scores[rows])

    @classmethod
    def empty(cls) -> PredictedSpans:
        return cls(np.zeros((0, 3), np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))


class PredictedRelations(NamedTuple):
    """Q relations; `pairs` holds the rows of head and tail in the predicted spans."""

    pairs: Ints  # [Q, 2]
    labels: Ints  # [Q]
    scores: Floats  # [Q]


S = TypeVar("S", bound=tuple[object, ...])  # scores of stage one
R = TypeVar("R", bound=tuple[object, ...])  # rows that stage two scores
T = TypeVar("T", bound=tuple[object, ...])  # scores of stage two


class NoRows(NamedTuple):
    """Empty rows, scores and features of models with one stage."""


@dataclass(frozen=True)
class Proposal(Generic[R]):
    """Spans predicted by stage one, and rows for stage two to score, in blocks of bounded size."""

    spans: PredictedSpans
    rows: Iterable[R] = ()


@dataclass(frozen=True)
class Decoder(Component, ABC, Generic[S, R, T]):
    """`first` and `second` are the named tuples of the two stages' scores, for runners that get outputs by name."""

    first: ClassVar[type[tuple[object, ...]]]
    second: ClassVar[type[tuple[object, ...]]] = NoRows

    def for_schema(self, schema: Schema) -> Self:
        """The decoder of the same model for other labels."""
        return self

    @abstractmethod
    def propose(
        self, first: S, batch: Batch[Array], thresholds: ScoreThresholds, given: PredictedSpans | None = None
    ) -> Proposal[R]:
        """Decode stage one. `given` are entities from the caller, which replace the predicted ones."""

    def decode(
        self,
        proposal: Proposal[R],
        second: Iterable[tuple[R, T]],
        batch: Batch[Array],
        thresholds: ScoreThresholds,
    ) -> list[Prediction]:
        """One prediction per example. `second` yields each block of rows with its scores; it may be empty."""
        return to_predictions(proposal.spans, batch.size)


def to_predictions(found: PredictedSpans, size: int, linked: PredictedRelations | None = None) -> list[Prediction]:
    """One prediction per example of a batch of `size` examples."""
    spans: list[list[ScoredSpan]] = [[] for _ in range(size)]
    place: list[tuple[int, int]] = []
    columns = (found.spans[:, 0], found.spans[:, 1], found.spans[:, 2], found.labels, found.scores)
    for example, start, end, label, score in zip(*(column.tolist() for column in columns), strict=True):
        place.append((example, len(spans[example])))
        spans[example].append(ScoredSpan(start, end, label, score))
    relations: list[list[ScoredRelation]] = [[] for _ in range(size)]
    if linked is not None:
        for (head, tail), label, score in zip(*(column.tolist() for column in linked), strict=True):
            example, first = place[head]
            relations[example].append(ScoredRelation(first, place[tail][1], label, score))
    return [Prediction(tuple(s), tuple(r)) for s, r in zip(spans, relations, strict=True)]
