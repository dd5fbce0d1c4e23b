"""Entities from starts and ends (LEAR, section 3.3): matched by probability, by distance, or by a classifier.

Starts and ends are numbered cells of a grid [groups, words]: a group is one label of one example. Spans of different
labels leave each other alone, as in the paper; where the task is flat, the more probable of two that overlap stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from spanwise.decoding.overlaps import non_overlapping_rows
from spanwise.decoding.probabilities import sigmoid
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
DECISION_THRESHOLD = 0.5  # the probability above which a word is a start or an end, and a pair of them a span
CELL_BLOCK_SIZE = 2**14
Matching = Literal["heuristic", "nearest", "classifier"]


class PointerScores(NamedTuple, Generic[A]):
    """Of every word and label, before the sigmoid."""

    start: A  # [B, T, C]
    end: A  # [B, T, C]


class CellRows(NamedTuple, Generic[A]):
    """Pairs of a start i and an end j, numbered ((b·C + c)·T + i)·T + j."""

    cells: A  # [M]


class MatchScores(NamedTuple, Generic[A]):
    """How likely each pair is a span, before the sigmoid."""

    logits: A  # [M]


class Matches(NamedTuple):
    """K spans as cells of their first and last word."""

    first: Ints  # [K]
    last: Ints  # [K]


@dataclass(frozen=True)
class PointerDecoder(Decoder[PointerScores[Floats], CellRows[Array], MatchScores[Floats]]):
    """Spans from starts and ends; with a classifier, stage two says which of them belong together."""

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
        start, end = (_by_label(logits, hidden) for logits in first)  # [B·C, T]
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
        blocks = [sigmoid(scores.logits) for _, scores in second]
        if blocks:  # there are none without a classifier, and for entities that were given
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
    """Probabilities with labels before words, none for words that are not scored. [B, T, C] -> [B·C, T]"""
    probabilities = np.where(hidden[..., None], 0.0, sigmoid(logits)).astype(np.float32, copy=False)
    by_label: Floats = probabilities.transpose(0, 2, 1).reshape(-1, logits.shape[1])
    return by_label


def match_nearest(start: Floats, end: Floats) -> Matches:
    """Every start with the nearest end at or behind it. start, end [groups, T]"""
    starts, ends = _above(start), _above(end)
    at = np.searchsorted(ends, starts)
    predicted = at < len(ends)
    starts, stops = starts[predicted], ends[at[predicted]]
    together = _groups(starts, start) == _groups(stops, start)
    return Matches(starts[together], stops[together])


def match_heuristic(start: Floats, end: Floats) -> Matches:
    """Algorithm 1 of LEAR, without its loop. start, end [groups, T]

    Its machine takes starts until an end comes, then ends until a start comes; of each run the most probable counts,
    the first of equals. So a start opens a new span if it is the first of its group or an end stands between it and
    the start before; an end belongs to the last start at or before it. The start of a word counts before its end.
    """
    starts, ends = _above(start), _above(end)
    behind = np.searchsorted(ends, starts)  # ends before each start
    group = _groups(starts, start)
    opens = np.ones(len(starts), bool)
    opens[1:] = (group[1:] != group[:-1]) | (behind[1:] != behind[:-1])
    span = np.cumsum(opens) - 1  # of each start
    owner = np.searchsorted(starts, ends, side="right") - 1
    owned = owner >= 0
    owned[owned] = group[owner[owned]] == _groups(ends[owned], start)
    ends, owner = ends[owned], owner[owned]
    begun, first = _best(span, starts, start)
    ended, last = _best(span[owner], ends, end)
    return Matches(first[np.searchsorted(begun, ended)], last)


def match_all(start: Floats, end: Floats) -> Matches:
    """Every start with every end of its group at or behind it. start, end [groups, T]"""
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
    """Of each span that occurs, the most probable of its cells, the first of equals."""
    order = np.lexsort((cells, -probabilities.ravel()[cells], span))
    predicted, first = np.unique(span[order], return_index=True)
    return predicted, cells[order[first]]
