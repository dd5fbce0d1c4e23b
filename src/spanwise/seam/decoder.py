"""From scores to predictions: what a decoder takes and gives. Decoders are numpy and pure: any runner serves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from spanwise.seam.batch import Array, Batch, Floats, Ints
from spanwise.seam.component import Component


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
    """What a model predicts for one example."""

    spans: tuple[ScoredSpan, ...] = ()
    relations: tuple[ScoredRelation, ...] = ()


class ScoreThresholds(NamedTuple):
    """The lowest probability that counts, per type."""

    entities: Floats  # [E]
    relations: Floats  # [R]


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
    """Q relations between predicted spans, as rows of them."""

    pairs: Ints  # [Q, 2]
    labels: Ints  # [Q]
    scores: Floats  # [Q]


S = TypeVar("S", bound=tuple[object, ...])  # arrays that stage one gives
R = TypeVar("R", bound=tuple[object, ...])  # arrays that name what stage two is to score
T = TypeVar("T", bound=tuple[object, ...])  # arrays that stage two gives


class NoRows(NamedTuple):
    """The rows, scores and features of models with one stage."""


@dataclass(frozen=True)
class Proposal(Generic[R]):
    """What stage one decided, and what stage two is to score, in blocks of bounded size."""

    spans: PredictedSpans
    rows: Iterable[R] = ()


@dataclass(frozen=True)
class Decoder(Component, ABC, Generic[S, R, T]):
    """`first` and `second` are the named tuples that the two stages give, for runners that get outputs by name."""

    first: ClassVar[type[tuple[object, ...]]]
    second: ClassVar[type[tuple[object, ...]]] = NoRows

    @abstractmethod
    def propose(
        self, first: S, batch: Batch[Array], thresholds: ScoreThresholds, given: PredictedSpans | None = None
    ) -> Proposal[R]:
        """Read stage one. `given` are entities that the caller supplies in place of predicted ones."""

    def decode(
        self,
        proposal: Proposal[R],
        second: Iterable[tuple[R, T]],
        batch: Batch[Array],
        thresholds: ScoreThresholds,
    ) -> list[Prediction]:
        """One prediction per example. `second` yields each block of rows with its scores; empty for one stage."""
        return to_predictions(proposal.spans, batch.size)


def to_predictions(found: PredictedSpans, size: int, linked: PredictedRelations | None = None) -> list[Prediction]:
    """One prediction per example of a batch of this size."""
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
