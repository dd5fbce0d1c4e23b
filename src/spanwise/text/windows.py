"""Windows over text of any length: each fits the encoder, neighbours overlap, every span belongs to one of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple


class Window(NamedTuple):
    """Words [start, end) of a document. It owns the spans whose middle lies in its core; cores never overlap."""

    start: int
    end: int
    core_start: int
    core_end: int

    def owns(self, start: int, end: int) -> bool:
        """Whether the words [start, end) of the document are this window's to report."""
        return 2 * self.core_start <= start + end - 1 < 2 * self.core_end


def cut_windows(pieces: Sequence[int], limit: int, overlap: int, sentences: Sequence[int] = ()) -> list[Window]:
    """Windows of at most `limit` pieces over words that take `pieces` each, which share up to `overlap` pieces.

    Borders lie on starts of `sentences` (word indices) where the text has any in reach. A span that is no wider than
    the overlap lies whole in the window that owns it.
    """
    total = len(pieces)
    before = [0, *accumulate(pieces)]  # pieces before each word
    if before[-1] <= limit:
        return [Window(0, total, 0, total)]
    bounds = []
    start, end = 0, 0
    while end < total:
        end = _reach(before, start, limit)
        if end < total:
            end = _border(sentences, start + (end - start) // 2, end) or end
        bounds.append((start, end))
        start = _next_start(before, start, end, overlap, sentences)
    middles = [(right[0] + left[1]) // 2 for left, right in pairwise(bounds)]
    cores = zip([0, *middles], [*middles, total], strict=True)
    return [Window(*bound, *core) for bound, core in zip(bounds, cores, strict=True)]


def _reach(before: Sequence[int], start: int, limit: int) -> int:
    """The furthest end whose words still fit."""
    end = bisect_left(before, before[start] + limit + 1) - 1
    return max(end, start + 1)


def _border(sentences: Sequence[int], low: int, high: int) -> int | None:
    """The last start of a sentence in (low, high]."""
    index = bisect_left(sentences, high + 1) - 1
    return sentences[index] if index >= 0 and sentences[index] > low else None


def _next_start(before: Sequence[int], start: int, end: int, overlap: int, sentences: Sequence[int]) -> int:
    """Back from the end by the overlap, then forward to a start of a sentence if one lies inside it."""
    earliest = max(bisect_left(before, before[end] - overlap), start + 1)
    index = bisect_left(sentences, earliest)
    inside = index < len(sentences) and sentences[index] < end
    return min(sentences[index] if inside else earliest, end)
