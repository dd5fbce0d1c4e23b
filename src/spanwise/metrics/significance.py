"""Paired approximate randomization: test whether the difference between two systems is more than chance.

Noreen 1989, for F1 as in Yeh 2000, "More accurate tests for the statistical significance of result differences".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spanwise.document import Document
from spanwise.errors import InputError
from spanwise.metrics.evaluation import evaluate
from spanwise.metrics.pairing import pair_documents
from spanwise.metrics.scores import Scores
from spanwise.schema import Schema

CELLS = 2**20  # trials times documents in memory at once
ROUNDING = 1e-12  # tolerance for differences that are equal as fractions but not as floats
Counts = tuple[int, int, int]  # gold, predicted, correct


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """Gold, predicted and correct items per document; `boundaries` is RE and `strict` is RE+ in the literature."""

    entities: tuple[Counts, ...]
    boundaries: tuple[Counts, ...] | None = None
    strict: tuple[Counts, ...] | None = None


@dataclass(frozen=True, slots=True)
class Significance:
    """Micro F1 of the first system minus that of the second, and the two-sided p-value of this difference."""

    difference: float
    p: float
    trials: int


def document_counts(
    gold: Iterable[Document], predicted: Iterable[Document], schema: Schema | None = None
) -> DocumentCounts:
    """The counts of `evaluate` per document; their sums are its micro counts."""
    scored = [evaluate([one], [other], schema) for one, other in pair_documents(gold, predicted)]
    entities = tuple(_counts(score.entities) for score in scored)
    relations = [score.relations for score in scored]
    if not any(relations):
        return DocumentCounts(entities)
    return DocumentCounts(
        entities,
        tuple(_counts(score.boundaries if score else None) for score in relations),
        tuple(_counts(score.strict if score else None) for score in relations),
    )


def randomization_test(
    one: Sequence[Sequence[int]], other: Sequence[Sequence[int]], *, trials: int = 10_000, seed: int = 1
) -> Significance:
    """Compare two systems by their counts on the same documents, with a two-sided test.

    Each trial swaps the two systems' counts of each document with probability 1/2. For runs with several seeds, pass
    each document's counts summed over the runs, because two runs on the same document are not independent.
    """
    first, second = _counted(one), _counted(other)  # [N, 3]
    if first.shape != second.shape or (first[:, 0] != second[:, 0]).any():
        raise InputError("the two systems were not scored on the same documents; score both on the same gold.")
    totals = first.sum(axis=0), second.sum(axis=0)
    difference = float(_f1(totals[0]) - _f1(totals[1]))
    change = second - first
    change = change[change.any(axis=1)]  # swapping equal counts changes nothing
    rng = np.random.default_rng(seed)
    size = max(1, CELLS // max(1, len(change)))
    extreme = 0
    for start in range(0, trials, size):
        swapped = rng.integers(0, 2, (min(size, trials - start), len(change)), dtype=np.uint8)  # [T, N]
        moved = swapped.astype(np.float64) @ change  # [T, 3], exact: sums of small integers
        differences = _f1(totals[0] + moved) - _f1(totals[1] - moved)
        extreme += int((np.abs(differences) >= abs(difference) - ROUNDING).sum())
    return Significance(difference, (1 + extreme) / (1 + trials), trials)


def bootstrap_difference(
    one: Sequence[Sequence[int]], other: Sequence[Sequence[int]], *, samples: int = 2_000, seed: int = 1
) -> tuple[float, float]:
    """The 95 % interval of the first system's micro F1 minus the second's, by percentiles over resampled documents."""
    both = np.concatenate([_counted(one), _counted(other)], axis=1)  # [N, 6]
    rng = np.random.default_rng(seed)
    size = max(1, CELLS // max(1, len(both)))
    found = []
    for start in range(0, samples, size):
        drawn = rng.multinomial(len(both), np.full(len(both), 1 / max(1, len(both))), min(size, samples - start))
        sums = drawn.astype(np.float64) @ both  # [S, 6]
        found.append(_f1(sums[:, :3]) - _f1(sums[:, 3:]))
    low, high = np.percentile(np.concatenate(found), [2.5, 97.5])
    return float(low), float(high)


def _counts(scores: Scores | None) -> Counts:
    return (scores.micro.gold, scores.micro.predicted, scores.micro.correct) if scores else (0, 0, 0)


def _counted(counts: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    return np.asarray(counts, dtype=np.float64).reshape(len(counts), 3)


def _f1(counts: NDArray[np.float64]) -> Any:
    """Micro F1 from [..., (gold, predicted, correct)]; 0 if there are neither gold nor predicted items."""
    gold, predicted, correct = counts[..., 0], counts[..., 1], counts[..., 2]
    return 2 * correct / np.maximum(gold + predicted, 1)
