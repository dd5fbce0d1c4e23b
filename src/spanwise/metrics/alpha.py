"""Krippendorff's alpha for nominal values: agreement of any number of annotators, corrected for chance.

Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section C: nominal data, any number of observers,
missing values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class NominalAlpha:
    """Collects the values that annotators gave to units, and computes alpha over all of them.

    Units with the same values are counted together, so that memory does not grow with the corpus.
    """

    def __init__(self) -> None:
        self._columns: dict[Hashable, int] = {}
        self._units: Counter[tuple[tuple[int, int], ...]] = Counter()  # by how often a unit has each value

    def add(self, values: Iterable[Hashable], units: int = 1) -> None:
        """Count units with these values, one per annotator. A unit with fewer than two values says nothing."""
        found = Counter(self._columns.setdefault(value, len(self._columns)) for value in values)
        if found.total() >= 2:
            self._units[tuple(sorted(found.items()))] += units

    def alpha(self) -> float | None:
        """1 for full agreement, 0 for that of chance, below 0 for less; None if all values are the same."""
        counts, units = self._table()
        values = counts.sum(axis=1)  # m_u
        observed = units @ ((values**2 - (counts**2).sum(axis=1)) / (values - 1))  # n · D_o
        totals = units @ counts  # n_c
        total = totals.sum()  # n
        expected = (total**2 - (totals**2).sum()) / (total - 1) if total else 0.0  # n · D_e
        return float(1 - observed / expected) if expected else None

    def _table(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The values of each kind of unit, [U, V], and the number of such units, [U]."""
        counts: Any = np.zeros((len(self._units), len(self._columns)))
        for row, pattern in enumerate(self._units):
            for column, count in pattern:
                counts[row, column] = count
        return counts, np.fromiter(self._units.values(), float, len(self._units))
