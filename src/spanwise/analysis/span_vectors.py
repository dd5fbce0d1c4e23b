"""Sums over span vectors, from which the means of DSpERT's Tables 4 and 5 are exact over all pairs, in numpy.

The cosines of all pairs of two classes sum up to the product of the classes' summed unit vectors. So no pair is ever
formed, no vector is kept, and nothing is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spanwise.seam.batch import Bools, Floats, Ints

NEIGHBORHOOD = 5  # words at most between an entity and a neighboring span that does not overlap it
CELLS = 2**22  # pairs of an entity and a span that are computed together
Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean, and the number of values; None without values."""

    value: float | None
    count: int

    @classmethod
    def of(cls, total: float, count: float) -> Mean:
        return cls(float(total / count) if count else None, int(count))


@dataclass(frozen=True, slots=True)
class VectorSums:
    """Sums over spans. Class 0 holds the spans without a label, then comes one class per label.

    A span with several labels is in each of their classes. Cosines leave out zero vectors, which have no direction.
    """

    overlap: Doubles  # [3, 2]   non-, weakly and strongly overlapping: sum and number of cosines
    norms: Doubles  # [1 + E]
    spans: Ints  # [1 + E]
    directions: Doubles  # [1 + E, d]   sums of unit vectors
    shared: Doubles  # [1 + E, 1 + E]   spans with a direction that are in both classes

    def __add__(self, other: VectorSums) -> VectorSums:
        return VectorSums(
            self.overlap + other.overlap,
            self.norms + other.norms,
            self.spans + other.spans,
            self.directions + other.directions,
            self.shared + other.shared,
        )

    def overlap_means(self) -> tuple[Mean, Mean, Mean]:
        """The cosines of entities with non-, weakly and strongly overlapping neighbors."""
        non, weakly, strongly = (Mean.of(total, count) for total, count in self.overlap.tolist())
        return non, weakly, strongly

    def norm(self, label: int) -> Mean:
        return Mean.of(self.norms[label], self.spans[label])

    def entity_norm(self) -> Mean:
        """The norms of labeled spans; a span counts once per label."""
        return Mean.of(self.norms[1:].sum(), self.spans[1:].sum())

    def cosine_within(self, label: int | None = None) -> Mean:
        """The cosines of spans with the same label, or with this label."""
        totals, counts = self._pairs()
        chosen = slice(1, None) if label is None else label
        return Mean.of(totals.diagonal()[chosen].sum(), counts.diagonal()[chosen].sum())

    def cosine_between(self) -> Mean:
        """The cosines of spans with different labels."""
        totals, counts = (np.triu(part[1:, 1:], 1) for part in self._pairs())
        return Mean.of(totals.sum(), counts.sum())

    def cosine_to_negatives(self) -> Mean:
        """The cosines of labeled spans with spans without a label."""
        totals, counts = self._pairs()
        return Mean.of(totals[0, 1:].sum(), counts[0, 1:].sum())

    def _pairs(self) -> tuple[Doubles, Doubles]:
        """Sum and number of the cosines of all pairs of different spans of two classes. -> [1 + E, 1 + E] each"""
        number = self.shared.diagonal()
        once = 1 - np.eye(len(number)) / 2  # within a class, each pair is summed twice
        totals = self.directions @ self.directions.T - self.shared  # a span has cosine 1 with itself
        return totals * once, (np.outer(number, number) - self.shared) * once


def sums(vectors: Floats, spans: Ints, labels: Bools, known: Bools) -> VectorSums:
    """The sums of one window's candidates.

    vectors [N, d]; spans [N, 2]; labels [N, E]; known [N], false for spans without a label that may have an unknown one
    """
    wide = vectors.astype(np.float64)
    norms = np.linalg.norm(wide, axis=1)
    units = wide / np.where(norms > 0, norms, 1)[:, None]
    entity = labels.sum(1) > 0
    classes = np.column_stack((known & ~entity, labels))  # [N, 1 + E]
    directed = (classes & (norms > 0)[:, None]).astype(np.float64)
    return VectorSums(
        overlap_sums(units, spans, entity),
        norms @ classes,
        classes.sum(0),
        directed.T @ units,
        directed.T @ directed,
    )


def overlap_sums(units: Doubles, spans: Ints, entity: Bools) -> Doubles:
    """Sum and number of the cosines of entities with their neighbors, by overlap class. -> [3, 2]"""
    rows = np.flatnonzero(entity & units.any(1))
    blocks = np.array_split(rows, max(1, -(-len(rows) * len(spans) // CELLS)))
    return sum((_overlap_sums(units, spans, block) for block in blocks), np.zeros((3, 2)))


def _overlap_sums(units: Doubles, spans: Ints, rows: Ints) -> Doubles:
    start, end = spans[rows, 0, None], spans[rows, 1, None]  # [G, 1]
    shared = np.minimum(end, spans[:, 1]) - np.maximum(start, spans[:, 0])  # [G, N]   negative: words between them
    union = np.maximum(end, spans[:, 1]) - np.minimum(start, spans[:, 0])
    neighbor = (shared < union) & (shared >= -NEIGHBORHOOD) & units.any(1)
    kind = np.where(shared <= 0, 0, np.where(2 * shared <= union, 1, 2))[neighbor]  # α = shared / union
    cosines = (units[rows] @ units.T)[neighbor]
    return np.stack((np.bincount(kind, cosines, 3), np.bincount(kind, minlength=3)), axis=1)


def template_means(weight: Floats, *, none: bool) -> tuple[Mean, Mean, Mean, Mean]:
    """Norm and absolute cosine of templates, of pairs of labels, and of labels with None, if `none` is row 0."""
    norms = np.linalg.norm(weight.astype(np.float64), axis=1)
    units = weight / np.where(norms > 0, norms, 1)[:, None]
    cosines = np.abs(units @ units.T)
    negative = np.arange(len(weight)) < int(none)
    upper = np.triu(np.ones_like(cosines, np.bool_), 1)
    with_none = upper & (negative[:, None] | negative)
    picks = (upper, upper & ~with_none, with_none)
    every, between, to_none = (Mean.of(cosines[pairs].sum(), pairs.sum()) for pairs in picks)
    return Mean.of(norms.sum(), len(norms)), every, between, to_none


def principal_components(vectors: Floats) -> tuple[Doubles, tuple[float, float]]:
    """Coordinates on the first two principal components, and their shares of the variance. [n, d] -> [n, 2]

    The largest loading of a component is positive, so that the signs are always the same.
    """
    centered = vectors.astype(np.float64) - (vectors.mean(0) if len(vectors) else 0)
    points = np.zeros((len(vectors), 2))
    if not centered.size:
        return points, (0.0, 0.0)
    _, values, axes = np.linalg.svd(centered, full_matrices=False)
    axes = axes[:2]
    largest = np.abs(axes).argmax(1)
    axes *= np.where(axes[np.arange(len(axes)), largest] < 0, -1, 1)[:, None]
    points[:, : len(axes)] = centered @ axes.T
    shares = np.zeros(2)
    total = (values**2).sum()
    if total > 0:
        shares[: len(axes)] = (values**2 / total)[:2]
    return points, (float(shares[0]), float(shares[1]))
