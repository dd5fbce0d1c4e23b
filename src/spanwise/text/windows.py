"""Split text of any length into overlapping windows that fit the encoder. Exactly one window reports each span."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple


class Window(NamedTuple):
    """Words [start, end) of a document, and the borders of the neighboring windows."""

    start: int
    end: int
    previous_end: int  # end of the previous window; for the first window, its own start
    next_start: int  # start of the next window; for the last window, its own end

    def owns(self, start: int, end: int) -> bool:
        """Whether this window reports the span [start, end), given in words of the document.

        If two windows contain a span, its middle decides: the window on that side of the shared words reports it. A
        fragment of a span at a window's border is therefore not reported, because the neighbor contains the whole span.
        """
        middle = start + end - 1  # twice the middle; the sums below are doubled too
        held_before = end <= self.previous_end and middle < self.start + self.previous_end
        held_behind = start >= self.next_start and middle >= self.next_start + self.end
        return self.start <= start and end <= self.end and not held_before and not held_behind


def cut_windows(pieces: Sequence[int], limit: int, overlap: int, sentences: Sequence[int] = ()) -> list[Window]:
    """Windows of at most `limit` pieces; `pieces` holds the count of each word. A longer word gets its own window.

    If `limit` is at least `overlap`, each span of at most `overlap` pieces lies entirely in at least one window, and
    exactly one window owns it. Windows start and end at a sentence start where one is in reach; `sentences` holds the
    indices of the words that start a sentence, in ascending order.
    """
    total = len(pieces)
    before = [0, *accumulate(pieces)]  # pieces before each word
    bounds: list[tuple[int, int]] = []
    start, end = 0, 0
    while end < total:
        if bounds:
            start = _next_start(before, start, end, limit, overlap, sentences)
        end = _end(before, start, end, limit, overlap, sentences)
        bounds.append((start, end))
    previous_ends = [0, *(end for _, end in bounds[:-1])]
    next_starts = [*(start for start, _ in bounds[1:]), total]
    rows = zip(bounds, previous_ends, next_starts, strict=True)
    return [Window(start, end, previous, following) for (start, end), previous, following in rows]


def sentence_windows(pieces: Sequence[int], limit: int, overlap: int, sentences: Sequence[int]) -> list[Window]:
    """One window per sentence; a sentence of more than `limit` pieces gets several overlapping windows."""
    windows = []
    for start, end in zip(sentences, [*sentences[1:], len(pieces)], strict=True):
        for window in cut_windows(pieces[start:end], limit, overlap):
            windows.append(Window(*(place + start for place in window)))
    return windows


def _end(before: Sequence[int], start: int, previous: int, limit: int, overlap: int, sentences: Sequence[int]) -> int:
    """The furthest end that fits, or the last sentence start before it that uses half the limit and adds a word."""
    furthest = max(bisect_right(before, before[start] + limit) - 1, start + 1)
    if furthest == len(before) - 1:
        return furthest
    nearest = bisect_left(before, before[start + 1] + max(limit // 2, overlap))
    return _last_within(sentences, max(nearest, previous + 1), furthest) or furthest


def _next_start(before: Sequence[int], start: int, end: int, limit: int, overlap: int, sentences: Sequence[int]) -> int:
    """Go back from `end` by the overlap, then by at most the same amount again to reach a sentence start.

    The word at `end` must still fit, so that every window adds a new word.
    """
    fits = max(bisect_left(before, before[end + 1] - limit, 0, end), start + 1)
    latest = max(bisect_right(before, before[end] - overlap, 0, end + 1) - 1, fits)
    earliest = max(bisect_left(before, before[end] - 2 * overlap), fits)
    return _last_within(sentences, earliest, latest) or latest


def _last_within(sentences: Sequence[int], low: int, high: int) -> int | None:
    """The last sentence start in [low, high]."""
    index = bisect_right(sentences, high) - 1
    return sentences[index] if index >= 0 and sentences[index] >= low else None
