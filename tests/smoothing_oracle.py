"""Boundary smoothing (Zhu and Li 2022), one gold span, one neighbor and one label at a time.

ε of a gold span's probability goes to the spans around it: a D-th part to those at each distance from 1 to D, counted
over both boundaries, and there evenly to each of the 4·distance that are so far. A neighbor that cannot be leaves its
part with the gold span.
"""

from __future__ import annotations

from collections.abc import Iterable

Span = tuple[int, int]  # half-open
Gold = set[tuple[int, int, int]]  # start, end, label


def possible(length: int, widest: int) -> list[Span]:
    return [(i, j) for i in range(length) for j in range(i + 1, length + 1) if j - i <= widest]


def neighbors(span: Span, distance: int) -> list[Span]:
    """The spans, possible or not, whose two boundaries are moved by so many words together."""
    start, end = span
    found = []
    for first in range(-distance, distance + 1):
        rest = distance - abs(first)
        found += [(start + first, end + last) for last in {-rest, rest}]
    assert len(found) == 4 * distance
    return found


def shares(spans: Iterable[Span], gold: Gold, labels: int, epsilon: float, reach: int) -> dict[Span, list[float]]:
    """What each span of a sentence is given of each label, by all gold spans together."""
    given = {span: [0.0] * labels for span in spans}
    for start, end, label in gold:
        kept = 1.0
        for distance in range(1, reach + 1):
            for neighbor in neighbors((start, end), distance):
                if neighbor in given:
                    part = epsilon / reach / (4 * distance)
                    given[neighbor][label] += part
                    kept -= part
        if (start, end) in given:
            given[start, end][label] += kept
    return given


def targets(spans: Iterable[Span], gold: Gold, labels: int, epsilon: float, reach: int) -> dict[Span, list[float]]:
    """Each span's probability of None and of each label; labels that were given more than all share it."""
    found = {}
    for span, given in shares(spans, gold, labels, epsilon, reach).items():
        most = max(sum(given), 1.0)
        own = [part / most for part in given]
        found[span] = [1 - sum(own), *own]
    return found
