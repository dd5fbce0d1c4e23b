"""Test whether the difference between two variants of a suite is more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from spanwise.benchmark.results import Result
from spanwise.benchmark.suite import Suite
from spanwise.benchmark.table import get_path
from spanwise.metrics import bootstrap_difference, randomization_test

Counts = list[list[int]]  # gold, predicted and correct items per document
COUNTS = {  # path of a score in a result: path of the document counts behind it
    "entities.micro.f1": "documents.entities",
    "relations.boundaries.micro.f1": "documents.boundaries",
    "relations.strict.micro.f1": "documents.strict",
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first variant's micro F1 minus the second's, in points, over the documents of the runs that both have.

    `low` and `high` are the ends of its 95 % interval by bootstrap over documents.
    """

    HEADER: ClassVar = ("difference", "column", "points", "95 % interval", "p", "runs")

    one: str
    other: str
    column: str
    difference: float
    low: float
    high: float
    p: float
    trials: int
    runs: int

    @property
    def cells(self) -> list[str]:
        interval = f"{self.low:+.2f} to {self.high:+.2f}"
        points = f"{self.difference:+.2f}"
        return [f"{self.one} − {self.other}", self.column, points, interval, f"{self.p:.4f}", str(self.runs)]


def compare(name: str, results: Sequence[Result]) -> list[Comparison]:
    """The comparisons that the suite lists, for each column with recorded counts."""
    suite = Suite.load(name)
    pairs = [(one, other, column) for one, other in suite.compare for column in suite.columns]
    return [found for pair in pairs if (found := compare_variants(suite, *pair, results))]


def compare_variants(suite: Suite, one: str, other: str, column: str, results: Sequence[Result]) -> Comparison | None:
    """The comparison of two variants in a column; None if no counts are recorded for it."""
    runs = _paired_counts(one, other, COUNTS.get(suite.columns[column], ""), results)
    if not runs:
        return None
    first, second = (_by_document({run: counts[side] for run, counts in runs.items()}) for side in (0, 1))
    test = randomization_test(first, second)
    low, high = (100 * end for end in bootstrap_difference(first, second))
    return Comparison(one, other, column, 100 * test.difference, low, high, test.p, test.trials, len(runs))


def _by_document(runs: Mapping[tuple[int, str], Counts]) -> Counts:
    """One row per document of each fold, summed over seeds, because runs on the same document are not independent."""
    folds: dict[str, Counts] = {}
    for (_, fold), counts in runs.items():
        before = folds.get(fold, [[0, 0, 0]] * len(counts))
        folds[fold] = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(before, counts, strict=True)]
    return [row for counts in folds.values() for row in counts]


def _paired_counts(
    one: str, other: str, path: str, results: Sequence[Result]
) -> dict[tuple[int, str], tuple[Counts, Counts]]:
    """The counts of both variants by seed and fold, for the runs that both have."""
    first, second = (
        {
            (result["seed"], result["corpus"]): counts
            for result in results
            if result["variant"] == variant and (counts := get_path(result, path))
        }
        for variant in (one, other)
    )
    return {run: (first[run], second[run]) for run in first if run in second}
