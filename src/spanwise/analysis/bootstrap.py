"""Scores with percentile bootstrap intervals over documents (Efron and Tibshirani 1993)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
Items = tuple[Integers, NDArray[Any]]  # the document and the group of each item


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
    correct: Integers  # indices of the correct predictions

    @property
    def columns(self) -> int:
        """Three per group: gold, predicted and correct items."""
        return 3 * len(self.names)

    def counts(self, documents: int, start: int, stop: int) -> NDArray[np.float32]:
        """The items per document in the columns from start to stop: [D, K]. Exact for sums below 2 ** 24."""
        counts = np.zeros((documents, stop - start), np.float32)
        for kind, (document, group) in enumerate(self._items()):
            column = 3 * group.astype(np.int64) + kind - start
            here = (column >= 0) & (column < stop - start)
            cells = document[here] * (stop - start) + column[here]
            counts += np.bincount(cells, minlength=counts.size).reshape(counts.shape)
        return counts

    def totals(self) -> Integers:
        """The items of each group: [G, (gold, predicted, correct)]."""
        return np.stack([np.bincount(group, minlength=len(self.names)) for _, group in self._items()], axis=1)

    def _items(self) -> tuple[Items, Items, Items]:
        document, group = self.predicted
        return self.gold, self.predicted, (document[self.correct], group[self.correct])


@dataclass(frozen=True, slots=True)
class Estimates:
    """The estimates of the groups of a breakdown, and their mean."""

    groups: Mapping[str, Estimate]
    macro: Macro


def estimate(
    breakdowns: Mapping[str, Groups], documents: int, *, samples: int = 1000, seed: int = 1
) -> dict[str, Estimates]:
    """The estimates of all breakdowns. Every sample draws as many documents as there are, with replacement."""
    limit = max(3, CELLS // documents)
    drawn = {name: np.zeros((samples, groups.columns)) for name, groups in breakdowns.items()}
    for batch in _batches(breakdowns, limit):
        counts = np.concatenate(
            [breakdowns[name].counts(documents, start, stop) for name, start, stop in batch], axis=1
        )
        totals = np.concatenate([weights @ counts for weights in _weights(documents, samples, seed)])
        cuts = np.cumsum([stop - start for _, start, stop in batch])[:-1]
        for (name, start, stop), part in zip(batch, np.split(totals, cuts, axis=1), strict=True):
            drawn[name][:, start:stop] = part
    return {name: _estimates(groups, drawn[name]) for name, groups in breakdowns.items()}


def _batches(breakdowns: Mapping[str, Groups], limit: int) -> Iterator[list[tuple[str, int, int]]]:
    """Columns of breakdowns that fit into memory together, as (breakdown, first column, last column)."""
    batch: list[tuple[str, int, int]] = []
    width = 0
    for name, groups in breakdowns.items():
        for start in range(0, groups.columns, limit):
            stop = min(start + limit, groups.columns)
            if batch and width + stop - start > limit:
                yield batch
                batch, width = [], 0
            batch.append((name, start, stop))
            width += stop - start
    yield batch


def _weights(documents: int, samples: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """How often each document is drawn in each sample: blocks of [n, D], the same for the same seed."""
    rng = np.random.default_rng(seed)
    size = max(1, DRAWN // max(1, documents))
    for start in range(0, samples, size):
        number = min(size, samples - start)
        drawn = rng.integers(0, max(1, documents), (number, documents))
        drawn += np.arange(number)[:, None] * documents
        yield np.bincount(drawn.ravel(), minlength=number * documents).reshape(number, documents).astype(np.float32)


def _estimates(breakdown: Groups, resampled: Resampled) -> Estimates:
    counts = breakdown.totals()  # [G, (gold, predicted, correct)]
    drawn = resampled.reshape(len(resampled), -1, 3)  # [samples, G, 3]
    values, samples = _fractions(counts), _fractions(drawn)
    groups = {}
    for index, name in enumerate(breakdown.names):
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
