"""Heuristic decoding (BL-NER, section 3.2.3): keep the most probable of overlapping predictions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from spanwise.seam.batch import Ints
from spanwise.seam.decoder import PredictedSpans, ScoredSpan


def filter_overlaps(spans: Sequence[ScoredSpan], *, shared: bool = False) -> list[ScoredSpan]:
    """Keep the most probable of overlapping spans; the result is in text order.

    With `shared`, spans with the same bounds and different labels do not count as overlapping.
    """
    if not spans:
        return []
    start, end, label, score = zip(*spans, strict=True)
    bounds = np.stack((np.zeros(len(start), np.int64), start, end), axis=1)
    predicted = PredictedSpans(bounds, np.array(label, np.int64), np.array(score, np.float32))
    return [spans[index] for index in non_overlapping_rows(predicted, shared=shared).tolist()]


def non_overlapping_rows(predicted: PredictedSpans, *, shared: bool = False) -> Ints:
    """Rows that heuristic decoding keeps, sorted by example and start. Loops over predictions, most probable first."""
    example, start, end = predicted.spans.T
    taken: dict[int, tuple[list[int], list[int]]] = {}  # starts and ends per example, ascending
    kept = []
    order = np.lexsort((predicted.labels, end, start, -predicted.scores))
    columns = zip(order.tolist(), *(column[order].tolist() for column in (example, start, end)), strict=True)
    for row, place, first, last in columns:
        starts, ends = taken.setdefault(place, ([], []))
        at = bisect_left(starts, last)
        if at == 0 or ends[at - 1] <= first:
            starts.insert(at, first)
            ends.insert(at, last)
        elif not (shared and (starts[at - 1], ends[at - 1]) == (first, last)):
            continue
        kept.append(row)
    rows = np.array(kept, np.int64)
    return rows[np.lexsort((predicted.labels[rows], end[rows], start[rows], example[rows]))]
