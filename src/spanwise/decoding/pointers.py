"""Entities from starts and ends (LEAR, section 3.3): matched by probability, by distance, or by a classifier.

Starts and ends are numbered cells of a grid [groups, words]; a group is one label of one example. As in the paper,
labels are matched independently. Flat mode then keeps the more probable of two overlapping spans.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from spanwise.decoding.overlaps import non_overlapping_rows
from spanwise.decoding.probabilities import scaled, sigmoid
from spanwise.seam.batch import Array, Batch, Floats, Ints
from spanwise.seam.decoder import (
    Decoder,
    PredictedSpans,
    Prediction,
    Proposal,
    ScoreThresholds,
    to_predictions,
)

A = TypeVar("A")
DECISION_THRESHOLD = 0.5  # probability above which a word is a start or an end, and a pair of them a span
CELL_BLOCK_SIZE = 2**14
Matching = Literal["heuristic", "nearest", "classifier"]


class PointerScores(NamedTuple, Generic[A]):
    """Scores of every word and label, before the sigmoid."""

    start: A  # [B, T, C]
    end: A  # [B, T, C]


class CellRows(NamedTuple, Generic[A]):
    """Pairs of a start i and an end j, numbered ((b·C + c)·T + i)·T + j."""

    cells: A  # [M]


class MatchScores(NamedTuple, Generic[A]):
    """Score of each pair as a span, before the sigmoid."""

    logits: A  # [M]


class Matches(NamedTuple):
    """K spans, as the cells of their first and last words."""

    first: Ints  # [K]
    last: Ints  # [K]


@dataclass(frozen=True)
class PointerDecoder(Decoder[PointerScores[Floats], CellRows[Array], MatchScores[Floats]]):
    """Spans from starts and ends; with a classifier, stage two decides which pairs are spans."""

    kind: ClassVar[str] = "pointers"
    first: ClassVar[type[tuple[object, ...]]] = PointerScores
    second: ClassVar[type[tuple[object, ...]]] = MatchScores

    nested: bool
    matching: Matching

    def propose(
        self,
        first: PointerScores[Floats],
        batch: Batch[Array],
        thresholds: ScoreThresholds,
        given: PredictedSpans | None = None,
    ) -> Proposal[CellRows[Array]]:
        if given is not None:
            return Proposal(given)
        length, labels = first.start.shape[1:]
        hidden = ~batch.words.scored.astype(np.bool_)
        start, end = (_by_label(scaled(logits, thresholds.temperature), hidden) for logits in first)  # [B·C, T]
        match = {"heuristic": match_heuristic, "nearest": match_nearest, "classifier": match_all}[self.matching]
        begin, last = match(start, end)
        group, position = np.divmod(begin, length)
        spans = np.stack((group // labels, position, last % length + 1), axis=1)
        predicted = PredictedSpans(spans, group % labels, np.minimum(start.ravel()[begin], end.ravel()[last]))
        if self.matching != "classifier":
            return Proposal(self._kept(predicted, thresholds))
        cells = begin * length + last % length
        return Proposal(
            predicted, (CellRows(cells[at : at + CELL_BLOCK_SIZE]) for at in range(0, len(cells), CELL_BLOCK_SIZE))
        )

    def decode(
        self,
        proposal: Proposal[CellRows[Array]],
        second: Iterable[tuple[CellRows[Array], MatchScores[Floats]]],
        batch: Batch[Array],
        thresholds: ScoreThresholds,
    ) -> list[Prediction]:
        predicted = proposal.spans
        blocks = [sigmoid(scaled(scores.logits, thresholds.temperature)) for _, scores in second]
        if blocks:  # empty without a classifier and for given entities
            joined = np.concatenate(blocks)
            predicted = predicted._replace(scores=np.minimum(joined, predicted.scores)).take(
                joined > DECISION_THRESHOLD
            )
            predicted = self._kept(predicted, thresholds)
        return to_predictions(predicted, batch.size)

    def _kept(self, predicted: PredictedSpans, thresholds: ScoreThresholds) -> PredictedSpans:
        predicted = predicted.take(predicted.scores >= thresholds.entities[predicted.labels])
        if self.nested or not len(predicted.spans):
            return predicted
        return predicted.take(non_overlapping_rows(predicted))


def _by_label(logits: Floats, hidden: Array) -> Floats:
    """Probabilities with labels before words, 0 for words that are not scored. [B, T, C] -> [B·C, T]"""
    probabilities = np.where(hidden[..., None], 0.0, sigmoid(logits)).astype(np.float32, copy=False)
    by_label: Floats = probabilities.transpose(0, 2, 1).reshape(-1, logits.shape[1])
    return by_label


def match_nearest(start: Floats, end: Floats) -> Matches:
    """Match every start with the nearest end at or after it. start, end [groups, T]"""
    starts, ends = _above(start), _above(end)
    at = np.searchsorted(ends, starts)
    predicted = at < len(ends)
    starts, stops = starts[predicted], ends[at[predicted]]
    together = _groups(starts, start) == _groups(stops, start)
    return Matches(starts[together], stops[together])


def match_heuristic(start: Floats, end: Floats) -> Matches:
    """Algorithm 1 of LEAR, vectorized. start, end [groups, T]

    The algorithm reads a run of starts, then a run of ends, and so on. It keeps the most probable of each run, the
    first if several are equal. So a start opens a new span if it is the first of its group or if an end lies between
    it and the previous start. An end belongs to the last start at or before it. A word's start comes before its end.
    """
    starts, ends = _above(start), _above(end)
    behind = np.searchsorted(ends, starts)  # number of ends before each start
    group = _groups(starts, start)
    opens = np.ones(len(starts), bool)
    opens[1:] = (group[1:] != group[:-1]) | (behind[1:] != behind[:-1])
    span = np.cumsum(opens) - 1  # span of each start
    owner = np.searchsorted(starts, ends, side="right") - 1
    owned = owner >= 0
    owned[owned] = group[owner[owned]] == _groups(ends[owned], start)
    ends, owner = ends[owned], owner[owned]
    begun, first = _best(span, starts, start)
    ended, last = _best(span[owner], ends, end)
    return Matches(first[np.searchsorted(begun, ended)], last)


def match_all(start: Floats, end: Floats) -> Matches:
    """Match every start with every end of its group at or after it. start, end [groups, T]"""
    starts, ends = _above(start), _above(end)
    border = (_groups(starts, start) + 1) * start.shape[1]
    first, stop = np.searchsorted(ends, starts), np.searchsorted(ends, border)
    count = stop - first
    head = np.repeat(np.arange(len(starts)), count)
    rank = np.arange(len(head)) - np.repeat(np.cumsum(count) - count, count)
    return Matches(starts[head], ends[first[head] + rank])


def _above(probabilities: Floats) -> Ints:
    return np.flatnonzero(probabilities > DECISION_THRESHOLD)


def _groups(cells: Ints, probabilities: Floats) -> Ints:
    groups: Ints = cells // probabilities.shape[1]
    return groups


def _best(span: Ints, cells: Ints, probabilities: Floats) -> tuple[Ints, Ints]:
    """The spans that occur and the most probable cell of each, the first if several are equal."""
    order = np.lexsort((cells, -probabilities.ravel()[cells], span))
    predicted, first = np.unique(span[order], return_index=True)
    return predicted, cells[order[first]]
