"""Windows over text of any length: each fits the encoder, neighbors overlap, every span belongs to one of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple


class Window(NamedTuple):
    """Words [start, end) of a document, and how far its neighbors reach into them."""

    start: int
    end: int
    previous_end: int  # where the window before ends; for the first one, its start
    next_start: int  # where the window behind starts; for the last one, its end

    def owns(self, start: int, end: int) -> bool:
        """Whether the words [start, end) of the document are this window's to report.

        Of two windows that hold a span, the one on whose side of the shared words its middle lies owns it. So a stump,
        which is what a window's edge leaves of a span, is not reported: the neighbor sees the whole.
        """
        middle = start + end - 1  # twice the middle, as are the sums below
        held_before = end <= self.previous_end and middle < self.start + self.previous_end
        held_behind = start >= self.next_start and middle >= self.next_start + self.end
        return self.start <= start and end <= self.end and not held_before and not held_behind


def cut_windows(pieces: Sequence[int], limit: int, overlap: int, sentences: Sequence[int] = ()) -> list[Window]:
    """Windows of at most `limit` pieces over words that take `pieces` each; a wider word has a window to itself.

    A span of at most `overlap` pieces lies whole in at least one window and is owned by exactly one, if `limit` is no
    smaller. Windows end and start with `sentences` (the words that start one, rising) where one is in reach.
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
    """A window for every sentence; a sentence of more than `limit` pieces has several that overlap."""
    windows = []
    for start, end in zip(sentences, [*sentences[1:], len(pieces)], strict=True):
        for window in cut_windows(pieces[start:end], limit, overlap):
            windows.append(Window(*(place + start for place in window)))
    return windows


def _end(before: Sequence[int], start: int, previous: int, limit: int, overlap: int, sentences: Sequence[int]) -> int:
    """As far as the words fit; then back to the start of a sentence, if half of the limit is used and a word is new."""
    furthest = max(bisect_right(before, before[start] + limit) - 1, start + 1)
    if furthest == len(before) - 1:
        return furthest
    nearest = bisect_left(before, before[start + 1] + max(limit // 2, overlap))
    return _last_within(sentences, max(nearest, previous + 1), furthest) or furthest


def _next_start(before: Sequence[int], start: int, end: int, limit: int, overlap: int, sentences: Sequence[int]) -> int:
    """Back from the end of [start, end) by the overlap, and by up to as much again to the start of a sentence.

    Never so far that the word at `end` would not fit: every window brings a new word.
    """
    fits = max(bisect_left(before, before[end + 1] - limit, 0, end), start + 1)
    latest = max(bisect_right(before, before[end] - overlap, 0, end + 1) - 1, fits)
    earliest = max(bisect_left(before, before[end] - 2 * overlap), fits)
    return _last_within(sentences, earliest, latest) or latest


def _last_within(sentences: Sequence[int], low: int, high: int) -> int | None:
    """The last start of a sentence in [low, high]."""
    index = bisect_right(sentences, high) - 1
    return sentences[index] if index >= 0 and sentences[index] >= low else None
