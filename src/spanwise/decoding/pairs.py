"""Relations from scores of pairs of entities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np

from spanwise.decoding.probabilities import sigmoid, softmax
from spanwise.decoding.spans import SpanScores, select_spans
from spanwise.schema import Schema
from spanwise.seam.batch import Array, Batch, Bools, Floats, Ints
from spanwise.seam.decoder import (
    Decoder,
    PredictedRelations,
    PredictedSpans,
    Prediction,
    Proposal,
    ScoreThresholds,
    to_predictions,
)

A = TypeVar("A")
PAIR_BLOCK_SIZE = 2**13  # however many entities a text has, no more pairs than these are in memory together
Activation = Literal["sigmoid", "softmax"]


class PairRows(NamedTuple, Generic[A]):
    """Entities and the pairs of them that stage two scores, grouped by example."""

    spans: A  # [K, 3]
    pairs: A  # [M, 2]   rows of `spans`


class PairScores(NamedTuple, Generic[A]):
    """Of M pairs, before softmax or sigmoid."""

    logits: A  # [M, R], or [M, 1 + R] with None first


@dataclass(frozen=True)
class PairDecoder(Decoder[SpanScores[Floats], PairRows[Ints], PairScores[Floats]]):
    """Entities first, then relations between every two of them that the schema allows."""

    kind: ClassVar[str] = "pairs"
    first: ClassVar[type[tuple[object, ...]]] = SpanScores
    second: ClassVar[type[tuple[object, ...]]] = PairScores

    nested: bool
    entities: int  # number of entity types
    symmetric: tuple[bool, ...]  # of each relation type
    heads: tuple[tuple[int, ...], ...]  # entity types that may be its head
    tails: tuple[tuple[int, ...], ...]
    multi_label: bool = False
    activation: Activation = "sigmoid"

    @classmethod
    def of(cls, schema: Schema, *, nested: bool, multi_label: bool, activation: Activation = "sigmoid") -> Self:
        names = schema.entity_names
        heads, tails = (
            (
                tuple(tuple(i for i, name in enumerate(names) if name in (allowed or names)) for allowed in of_relation)
                for of_relation in zip(*((r.head_types, r.tail_types) for r in schema.relations), strict=True)
            )
            if schema.relations
            else ((), ())
        )
        symmetric = tuple(relation.symmetric for relation in schema.relations)
        return cls(nested, len(names), symmetric, heads, tails, multi_label, activation)

    @cached_property
    def allowed(self) -> Bools:
        """Types that entities with these labels may have, in either order where a type is symmetric. [E, E, R]"""
        table = np.zeros((len(self.symmetric), self.entities, self.entities), np.bool_)
        for relation, (heads, tails) in enumerate(zip(self.heads, self.tails, strict=True)):
            table[relation][np.ix_(heads, tails)] = True
        table |= table.transpose(0, 2, 1) & np.array(self.symmetric, np.bool_)[:, None, None]
        return table.transpose(1, 2, 0)

    def propose(
        self,
        first: SpanScores[Floats],
        batch: Batch[Array],
        thresholds: ScoreThresholds,
        given: PredictedSpans | None = None,
    ) -> Proposal[PairRows[Ints]]:
        options = {"nested": self.nested, "multi_label": self.multi_label}
        if given is None:
            given = select_spans(first.logits, batch.proposals.spans, thresholds.entities, **options)
        return Proposal(given, (PairRows(given.spans, pairs) for pairs in self.pairs(given)))

    def pairs(self, predicted: PredictedSpans, block_size: int = PAIR_BLOCK_SIZE) -> Iterator[Ints]:
        """Every ordered pair of two spans of one example that may have a relation, in blocks. -> [M, 2] each"""
        if not len(predicted.spans) or not self.symmetric:
            return
        _, group, size = np.unique(predicted.spans[:, 0], return_inverse=True, return_counts=True)
        before = np.cumsum(size) - size  # entities before each example's own
        number = size[group]  # [K]   pairs that each entity heads, itself included
        ends = np.cumsum(number)
        for at in range(0, int(ends[-1]), block_size):
            place = np.arange(at, min(at + block_size, int(ends[-1])))
            head = np.searchsorted(ends, place, side="right")
            tail = before[group[head]] + place - (ends[head] - number[head])
            pairs = np.stack((head, tail), axis=1)
            pairs = pairs[(predicted.spans[head] != predicted.spans[tail]).any(-1)]
            pairs = pairs[self._reportable(predicted, pairs).any(-1)]
            if len(pairs):
                yield pairs

    def decode(
        self,
        proposal: Proposal[PairRows[Ints]],
        second: Iterable[tuple[PairRows[Ints], PairScores[Floats]]],
        batch: Batch[Array],
        thresholds: ScoreThresholds,
    ) -> list[Prediction]:
        predicted = proposal.spans
        linked = [self._relations(predicted, rows.pairs, scores.logits, thresholds) for rows, scores in second]
        joined = PredictedRelations(*map(np.concatenate, zip(*linked, strict=True))) if linked else None
        return to_predictions(predicted, batch.size, joined)

    def _relations(
        self, predicted: PredictedSpans, pairs: Ints, logits: Floats, thresholds: ScoreThresholds
    ) -> PredictedRelations:
        """The types of each pair that are allowed and probable enough."""
        probability = self._probabilities(predicted, pairs, logits)
        row, label = np.nonzero(self._reportable(predicted, pairs) & (probability >= thresholds.relations))
        return PredictedRelations(pairs[row], label, probability[row, label])

    def _probabilities(self, predicted: PredictedSpans, pairs: Ints, logits: Floats) -> Floats:
        """Sigmoid: of each type on its own. Softmax: only the best class of those possible has any. -> [M, R]"""
        if self.activation == "sigmoid":
            return sigmoid(logits)
        possible = np.pad(self._possible(predicted, pairs), ((0, 0), (1, 0)), constant_values=True)
        probability = softmax(np.where(possible, logits, -np.inf).astype(np.float32))
        best = probability.argmax(-1)[:, None] == np.arange(logits.shape[-1])
        exclusive: Floats = np.where(best, probability, -1.0)[:, 1:]
        return exclusive

    def _possible(self, predicted: PredictedSpans, pairs: Ints) -> Bools:
        """By the arguments alone, in whichever order. -> [M, R]"""
        possible: Bools = self.allowed[predicted.labels[pairs[:, 0]], predicted.labels[pairs[:, 1]]]
        return possible

    def _reportable(self, predicted: PredictedSpans, pairs: Ints) -> Bools:
        """A symmetric relation is read once, from the pair in the order of the text. -> [M, R]"""
        head, tail = pairs[:, 0], pairs[:, 1]
        start, end = predicted.spans[:, 1], predicted.spans[:, 2]
        in_order = (start[head] < start[tail]) | ((start[head] == start[tail]) & (end[head] < end[tail]))
        readable: Bools = self._possible(predicted, pairs) & (in_order[:, None] | ~np.array(self.symmetric, np.bool_))
        return readable
