"""Scores with percentile bootstrap intervals over documents (Efron and Tibshirani 1993)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spanwise.analysis.arrays import Floats, Integers
from spanwise.render.elements import Interval

LEVEL = 0.95
CELLS = 2**25  # documents times columns in memory at once
DRAWN = 2**22  # samples times documents in memory at once
Resampled = NDArray[np.float64]
Counts = NDArray[Any]  # integers, or sums of samples
Items = tuple[Integers, Integers]  # the document and the group of each item


@dataclass(frozen=True, slots=True)
class Estimate:
    """Precision, recall and F1 as fractions with 95 % intervals, and the counts behind them.

    A fraction with denominator 0 is 0; samples in which it is undefined do not take part in its interval.
    """

    precision: Interval
    recall: Interval
    f1: Interval
    gold: int
    predicted: int
    correct: int


@dataclass(frozen=True, slots=True)
class Macro:
    """The means of precision, recall and F1 over the labels that occur in gold (in a sample: in its gold)."""

    precision: Interval
    recall: Interval
    f1: Interval


@dataclass(frozen=True, slots=True)
class Groups:
    """The items of one breakdown: every gold, predicted and correct item is in one group."""

    names: tuple[str, ...]
    gold: Items
    predicted: Items
    correct: Items


@dataclass(frozen=True, slots=True)
class Estimates:
    """The estimates of the groups of a breakdown, and their mean."""

    groups: Mapping[str, Estimate]
    macro: Macro


def estimate(
    breakdowns: Mapping[str, Groups], documents: int, *, samples: int = 1000, seed: int = 1
) -> dict[str, Estimates]:
    """The estimates of all breakdowns. Every sample draws as many documents as there are, with replacement."""
    columns = [_columns(groups) for groups in breakdowns.values()]
    widths = [3 * len(groups.names) for groups in breakdowns.values()]
    places = np.cumsum([0, *widths])
    document = np.concatenate([rows for rows, _ in columns])
    column = np.concatenate([kinds + place for (_, kinds), place in zip(columns, places[:-1], strict=True)])
    totals, resampled = _resample(document, column, documents, int(places[-1]), samples, seed)
    return {
        name: _estimates(groups.names, totals[start : start + width], resampled[:, start : start + width])
        for (name, groups), start, width in zip(breakdowns.items(), places, widths, strict=False)
    }


def _columns(groups: Groups) -> tuple[Integers, Integers]:
    """The document of each item and its column: three per group, for gold, predicted and correct."""
    kinds = (groups.gold, groups.predicted, groups.correct)
    return (
        np.concatenate([document for document, _ in kinds]),
        np.concatenate([3 * group + kind for kind, (_, group) in enumerate(kinds)]),
    )


def _resample(
    document: Integers, column: Integers, documents: int, columns: int, samples: int, seed: int
) -> tuple[Integers, Resampled]:
    """The total of each column, and its totals in samples of documents: [K], [samples, K]."""
    resampled = np.zeros((samples, columns))
    size = max(1, CELLS // max(1, documents))
    for start in range(0, columns, size):
        stop = min(start + size, columns)
        counts = _dense(document, column, documents, start, stop)
        row = 0
        for weights in _weights(documents, samples, seed):
            resampled[row : row + len(weights), start:stop] = weights @ counts
            row += len(weights)
    return np.bincount(column, minlength=columns), resampled


def _dense(document: Integers, column: Integers, documents: int, start: int, stop: int) -> NDArray[np.float32]:
    """Counts per document of the columns from start to stop; exact, for sums below 2 ** 24."""
    here = (column >= start) & (column < stop)
    counts = np.zeros((documents, stop - start), np.float32)
    np.add.at(counts, (document[here], column[here] - start), 1)
    return counts


def _weights(documents: int, samples: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """How often each document is drawn in each sample: blocks of [n, D], the same for the same seed."""
    rng = np.random.default_rng(seed)
    size = max(1, DRAWN // max(1, documents))
    for start in range(0, samples, size):
        number = min(size, samples - start)
        drawn = rng.integers(0, max(1, documents), (number, documents))
        drawn += np.arange(number)[:, None] * documents
        yield np.bincount(drawn.ravel(), minlength=number * documents).reshape(number, documents).astype(np.float32)


def _estimates(names: Sequence[str], totals: Integers, resampled: Resampled) -> Estimates:
    counts = totals.reshape(-1, 3)  # [G, (gold, predicted, correct)]
    drawn = resampled.reshape(len(resampled), -1, 3)  # [samples, G, 3]
    values, samples = _fractions(counts), _fractions(drawn)
    groups = {}
    for index, name in enumerate(names):
        gold, predicted, correct = (int(number) for number in counts[index])
        precision, recall, f1 = (_interval(values[kind][index], samples[kind][:, index]) for kind in range(3))
        groups[name] = Estimate(precision, recall, f1, gold, predicted, correct)
    return Estimates(groups, _macro(counts, drawn))


def _macro(counts: Integers, drawn: Resampled) -> Macro:
    values = [_mean_over_gold(fraction, counts) for fraction in _fractions(counts)]
    samples = [_mean_over_gold(fraction, drawn) for fraction in _fractions(drawn)]
    return Macro(*(_interval(value, sample) for value, sample in zip(values, samples, strict=True)))


def _mean_over_gold(fraction: Floats, counts: Counts) -> Floats:
    in_gold = counts[..., 0] > 0
    total = np.where(in_gold, np.nan_to_num(fraction), 0.0).sum(axis=-1)
    return _ratio(total, in_gold.sum(axis=-1))


def _fractions(counts: Counts) -> tuple[Floats, Floats, Floats]:
    """Precision, recall and F1 of [..., (gold, predicted, correct)]; not a number where undefined."""
    gold, predicted, correct = counts[..., 0], counts[..., 1], counts[..., 2]
    return _ratio(correct, predicted), _ratio(correct, gold), _ratio(2 * correct, gold + predicted)


def _ratio(part: Counts, whole: Counts) -> Floats:
    """The quotient; not a number where the denominator is 0."""
    ratio: Floats = np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=np.asarray(whole) > 0)
    return ratio


def _interval(value: Floats, samples: Floats) -> Interval:
    point = float(np.nan_to_num(value))
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return Interval(point, point, point)
    low, high = np.percentile(defined, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return Interval(point, float(low), float(high))
