"""Entities from scores of candidate spans."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from spanwise.decoding.overlaps import non_overlapping_rows
from spanwise.decoding.probabilities import scaled, sigmoid, softmax
from spanwise.seam.batch import Array, Batch, Floats, Ints
from spanwise.seam.decoder import (
    Decoder,
    NoRows,
    PredictedSpans,
    Prediction,
    Proposal,
    ScoreThresholds,
    to_predictions,
)

A = TypeVar("A")


class SpanScores(NamedTuple, Generic[A]):
    """Scores of N spans, before softmax or sigmoid."""

    logits: A  # [N, 1 + E] with None first, or [N, E] with independent labels


class SpanRows(NamedTuple, Generic[A]):
    """Spans that stage two scores."""

    spans: A  # [K, 3]


class ScreeningScores(NamedTuple, Generic[A]):
    """Score of each candidate as an entity, before the sigmoid; empty without screening."""

    screening: A  # [N]


@dataclass(frozen=True)
class SpanDecoder(Decoder[SpanScores[Floats], NoRows, NoRows]):
    """Predict the best label of each span or, with `multi_label`, every label that reaches its threshold.

    `independent` logits have no column for None, as with `multi_label`.
    """

    kind: ClassVar[str] = "spans"
    first: ClassVar[type[tuple[object, ...]]] = SpanScores

    nested: bool
    multi_label: bool = False
    independent: bool = False

    def propose(
        self,
        first: SpanScores[Floats],
        batch: Batch[Array],
        thresholds: ScoreThresholds,
        given: PredictedSpans | None = None,
    ) -> Proposal[NoRows]:
        if given is not None:
            return Proposal(given)
        select = partial(
            select_spans,
            nested=self.nested,
            multi_label=self.multi_label,
            independent=self.independent,
            temperature=thresholds.temperature,
        )
        return Proposal(select(first.logits, batch.proposals.spans, thresholds.entities))


@dataclass(frozen=True)
class TwoStageSpanDecoder(Decoder[ScreeningScores[Floats], SpanRows[Array], SpanScores[Floats]]):
    """Stage two labels the candidates that pass the screening, or all candidates without screening."""

    kind: ClassVar[str] = "two-stage-spans"
    first: ClassVar[type[tuple[object, ...]]] = ScreeningScores
    second: ClassVar[type[tuple[object, ...]]] = SpanScores

    nested: bool
    multi_label: bool = False
    screening_threshold: float | None = None
    independent: bool = False

    def propose(
        self,
        first: ScreeningScores[Floats],
        batch: Batch[Array],
        thresholds: ScoreThresholds,
        given: PredictedSpans | None = None,
    ) -> Proposal[SpanRows[Array]]:
        if given is not None:
            return Proposal(given)
        spans = batch.proposals.spans
        if self.screening_threshold is not None:
            spans = spans[sigmoid(first.screening) >= self.screening_threshold]
        return Proposal(PredictedSpans.empty(), [SpanRows(spans)] if len(spans) else [])

    def decode(
        self,
        proposal: Proposal[SpanRows[Array]],
        second: Iterable[tuple[SpanRows[Array], SpanScores[Floats]]],
        batch: Batch[Array],
        thresholds: ScoreThresholds,
    ) -> list[Prediction]:
        select = partial(
            select_spans,
            nested=self.nested,
            multi_label=self.multi_label,
            independent=self.independent,
            temperature=thresholds.temperature,
        )
        found = [select(s.logits, r.spans, thresholds.entities) for r, s in second]
        return to_predictions(found[0] if found else proposal.spans, batch.size)


def select_spans(
    logits: Floats,
    spans: Array,
    thresholds: Floats,
    *,
    nested: bool,
    multi_label: bool,
    independent: bool = False,
    temperature: float = 1.0,
) -> PredictedSpans:
    """Select spans and their labels; in flat mode, only the most probable of overlapping spans.

    Softmax selects the best class if it is a label and reaches its threshold; sigmoid selects the best of the labels
    that do or, with `multi_label`, all of them.
    logits [N, 1 + E] or [N, E]; spans [N, 3], grouped by example; thresholds [E]
    """
    choose = _all_labels if multi_label else _best_label if independent else _best_class
    rows, labels, scores = choose(scaled(logits, temperature), thresholds)
    found = PredictedSpans(spans[rows].astype(np.int64, copy=False), labels, scores)
    if nested or not len(rows):
        return found
    return found.take(non_overlapping_rows(found, shared=multi_label))


def _best_class(logits: Floats, thresholds: Floats) -> tuple[Ints, Ints, Floats]:
    best = logits.argmax(-1)
    rows = np.flatnonzero(best)
    labels = best[rows] - 1
    scores = softmax(logits[rows])[np.arange(len(rows)), labels + 1]
    kept = scores >= thresholds[labels]
    return rows[kept], labels[kept], scores[kept]


def _all_labels(logits: Floats, thresholds: Floats) -> tuple[Ints, Ints, Floats]:
    scores = sigmoid(logits)
    rows, labels = np.nonzero(scores >= thresholds)
    return rows, labels, scores[rows, labels]


def _best_label(logits: Floats, thresholds: Floats) -> tuple[Ints, Ints, Floats]:
    scores = sigmoid(logits)
    passing = np.where(scores >= thresholds, scores, -1)
    labels = passing.argmax(-1)
    best = passing[np.arange(len(labels)), labels]
    rows = np.flatnonzero(best >= 0)
    return rows, labels[rows], best[rows]
