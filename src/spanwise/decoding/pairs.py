"""Relations from scores of pairs of entities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np

from spanwise.decoding.probabilities import scaled, sigmoid, softmax
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
PAIR_BLOCK_SIZE = 2**13  # largest number of pairs in memory together, however many entities a text has
Activation = Literal["sigmoid", "softmax"]


class PairRows(NamedTuple, Generic[A]):
    """Entities, and the pairs of entities that stage two scores, grouped by example."""

    spans: A  # [K, 3]
    pairs: A  # [M, 2]   rows of `spans`


class PairScores(NamedTuple, Generic[A]):
    """Scores of M pairs, before softmax or sigmoid."""

    logits: A  # [M, R], or [M, 1 + R] with None first


@dataclass(frozen=True)
class PairDecoder(Decoder[SpanScores[Floats], PairRows[Ints], PairScores[Floats]]):
    """Decode entities first, then relations between all pairs that the schema allows."""

    kind: ClassVar[str] = "pairs"
    first: ClassVar[type[tuple[object, ...]]] = SpanScores
    second: ClassVar[type[tuple[object, ...]]] = PairScores

    nested: bool
    entities: int  # number of entity types
    symmetric: tuple[bool, ...]  # per relation type
    heads: tuple[tuple[int, ...], ...]  # entity types allowed as head, per relation type
    tails: tuple[tuple[int, ...], ...]
    multi_label: bool = False
    activation: Activation = "sigmoid"
    independent: bool = False  # entity logits without a column for None, as with `multi_label`

    @classmethod
    def of(
        cls,
        schema: Schema,
        *,
        nested: bool,
        multi_label: bool,
        activation: Activation = "sigmoid",
        independent: bool = False,
    ) -> Self:
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
        return cls(nested, len(names), symmetric, heads, tails, multi_label, activation, independent)

    def for_schema(self, schema: Schema) -> Self:
        return self.of(
            schema,
            nested=self.nested,
            multi_label=self.multi_label,
            activation=self.activation,
            independent=self.independent,
        )

    @cached_property
    def allowed(self) -> Bools:
        """Relation types allowed between two entity labels, in either order if the type is symmetric. [E, E, R]"""
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
        if given is None:
            given = select_spans(
                first.logits,
                batch.proposals.spans,
                thresholds.entities,
                nested=self.nested,
                multi_label=self.multi_label,
                independent=self.independent,
                temperature=thresholds.temperature,
            )
        return Proposal(given, (PairRows(given.spans, pairs) for pairs in self.pairs(given)))

    def pairs(self, predicted: PredictedSpans, block_size: int = PAIR_BLOCK_SIZE) -> Iterator[Ints]:
        """Yield, in blocks, all ordered pairs of spans in one example that may have a relation. -> [M, 2] each"""
        if not len(predicted.spans) or not self.symmetric:
            return
        _, group, size = np.unique(predicted.spans[:, 0], return_inverse=True, return_counts=True)
        before = np.cumsum(size) - size  # number of entities in earlier examples
        number = size[group]  # [K]   pairs with each entity as head, including with itself
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
        """The allowed types of each pair whose probability reaches the threshold."""
        probability = self._probabilities(predicted, pairs, scaled(logits, thresholds.relation_temperature))
        row, label = np.nonzero(self._reportable(predicted, pairs) & (probability >= thresholds.relations))
        return PredictedRelations(pairs[row], label, probability[row, label])

    def _probabilities(self, predicted: PredictedSpans, pairs: Ints, logits: Floats) -> Floats:
        """Sigmoid: independent probability of each type. Softmax: -1 except for the best allowed class. -> [M, R]"""
        if self.activation == "sigmoid":
            return sigmoid(logits)
        possible = np.pad(self._possible(predicted, pairs), ((0, 0), (1, 0)), constant_values=True)
        probability = softmax(np.where(possible, logits, -np.inf).astype(np.float32))
        best = probability.argmax(-1)[:, None] == np.arange(logits.shape[-1])
        exclusive: Floats = np.where(best, probability, -1.0)[:, 1:]
        return exclusive

    def _possible(self, predicted: PredictedSpans, pairs: Ints) -> Bools:
        """Types that the labels of the arguments allow, regardless of text order. -> [M, R]"""
        possible: Bools = self.allowed[predicted.labels[pairs[:, 0]], predicted.labels[pairs[:, 1]]]
        return possible

    def _reportable(self, predicted: PredictedSpans, pairs: Ints) -> Bools:
        """Possible types; a symmetric relation is reported once, for the pair in text order. -> [M, R]"""
        head, tail = pairs[:, 0], pairs[:, 1]
        start, end = predicted.spans[:, 1], predicted.spans[:, 2]
        in_order = (start[head] < start[tail]) | ((start[head] == start[tail]) & (end[head] < end[tail]))
        readable: Bools = self._possible(predicted, pairs) & (in_order[:, None] | ~np.array(self.symmetric, np.bool_))
        return readable
