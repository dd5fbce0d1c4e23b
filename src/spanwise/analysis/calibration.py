"""How far the scores of predictions are probabilities (Guo et al. 2017)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spanwise.analysis.arrays import Booleans, Floats, Integers
from spanwise.render.elements import ReliabilityBin

BINS = 10


@dataclass(frozen=True, slots=True)
class CalibrationError:
    """Expected and maximum calibration error of some predictions, with their mean score and the share correct."""

    expected: float
    maximum: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """The reliability of all predictions of a system, in ten bins of equal width, and the errors of each label.

    A bin holds the scores from its lower end up to, but not including, its upper end; the last includes 1. The expected
    calibration error is the mean of |accuracy - confidence| over the bins, weighted by their counts; the maximum
    calibration error is the largest of them. Empty bins are left out.
    """

    bins: tuple[ReliabilityBin, ...]
    overall: CalibrationError
    labels: Mapping[str, CalibrationError]


def calibrate(score: Floats, correct: Booleans, label: Integers, labels: Sequence[str]) -> Calibration | None:
    """The calibration of predictions; None if no prediction has a score of its own, or a score is no probability."""
    if not has_scores(score) or score.min() < 0 or score.max() > 1:
        return None
    place = _places(score)
    present = {name: label == index for index, name in enumerate(labels)}
    return Calibration(
        bins=_bins(score, correct, place),
        overall=_error(score, correct, place),
        labels={name: _error(score[rows], correct[rows], place[rows]) for name, rows in present.items() if rows.any()},
    )


def has_scores(score: Floats) -> bool:
    """Whether any score differs from 1, which stands for a prediction without a score."""
    return bool((score != 1).any())


def _places(score: Floats) -> Integers:
    edges = np.arange(BINS) / BINS
    return np.searchsorted(edges, score, side="right") - 1


def _sums(score: Floats, correct: Booleans, place: Integers) -> tuple[Floats, Floats, Floats]:
    """The number of predictions in each bin, the sum of their scores, and the number that is correct."""
    counts, scores, right = (
        np.bincount(place, weights, BINS).astype(np.float64) for weights in (None, score, correct.astype(np.float64))
    )
    return counts, scores, right


def _bins(score: Floats, correct: Booleans, place: Integers) -> tuple[ReliabilityBin, ...]:
    counts, scores, right = _sums(score, correct, place)
    return tuple(
        ReliabilityBin(i / BINS, (i + 1) / BINS, int(counts[i]), scores[i] / counts[i], right[i] / counts[i])
        for i in np.flatnonzero(counts).tolist()
    )


def _error(score: Floats, correct: Booleans, place: Integers) -> CalibrationError:
    counts, scores, right = _sums(score, correct, place)
    total = counts.sum()
    gaps = np.abs(right - scores)  # count x |accuracy - confidence|
    largest = (gaps[counts > 0] / counts[counts > 0]).max()
    return CalibrationError(
        float(gaps.sum() / total), float(largest), int(total), float(scores.sum() / total), float(right.sum() / total)
    )
