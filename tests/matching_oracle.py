"""How starts and ends of one label become spans, as loops over the words of one sentence (LEAR, section 3.3, A.1).

Spans are given by their first and last word. What is above one half counts.
"""

from __future__ import annotations

from collections.abc import Sequence

Ends = tuple[int, int]  # first and last word


def algorithm_1(start: Sequence[float], end: Sequence[float]) -> list[Ends]:
    """The paper's machine of three states: nothing found, a start found, a start and an end found.

    Corrected where it is printed wrong: a new start sets a_s, and not a_e (line 20); a span that is still open behind
    the last word counts if it has an end; a new start closes the span before the end of its word is looked at, so that
    this end is the new span's. The start that opened a span is no new one at the same word. The first of equals stays.
    """
    spans: list[Ends] = []
    state, a_s, a_e = 1, -1, -1
    for i in range(len(start)):
        if state == 3:
            if start[i] > 0.5:
                spans.append((a_s, a_e))
                state, a_s, a_e = 2, i, -1
            elif end[i] > 0.5:
                if end[i] > end[a_e]:
                    a_e = i
                continue
        if state == 1 and start[i] > 0.5:
            state, a_s = 2, i
        if state == 2:
            if start[i] > 0.5 and start[i] > start[a_s]:
                a_s = i
            if end[i] > 0.5:
                state, a_e = 3, i
    if state == 3:
        spans.append((a_s, a_e))
    return spans


def nearest(start: Sequence[float], end: Sequence[float]) -> list[Ends]:
    """Every start with the first end that is not before it."""
    spans = []
    for i in range(len(start)):
        if start[i] > 0.5:
            for j in range(i, len(end)):
                if end[j] > 0.5:
                    spans.append((i, j))
                    break
    return spans


def crossed(start: Sequence[float], end: Sequence[float]) -> list[Ends]:
    """Every start with every end that is not before it."""
    words = range(len(start))
    return [(i, j) for i in words for j in words if i <= j and start[i] > 0.5 and end[j] > 0.5]
