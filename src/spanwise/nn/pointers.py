"""Where spans start and end: targets for pointers, and the matching of starts with ends (LEAR, section 3.3).

Starts and ends are numbered cells of a grid [groups, words]: a group is one label of one example.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Cells = NDArray[np.int64]
Chances = NDArray[np.float32]
LEAST = 0.5  # the probability above which a word is a start or an end


class Matches(NamedTuple):
    """K spans as cells of their first and last word."""

    first: Cells  # [K]
    last: Cells  # [K]


def pointer_targets(gold: Tensor, shape: torch.Size) -> tuple[Tensor, Tensor]:
    """S and E: 1 where a gold span of the label starts, and where one ends. gold [G, 4] -> [B, T, C] each"""
    row, start, end, label = gold.unbind(-1)
    starts, ends = (torch.zeros(shape, device=gold.device) for _ in range(2))
    starts[row, start, label] = 1.0
    ends[row, end - 1, label] = 1.0
    return starts, ends


def nearest(start: Chances, end: Chances) -> Matches:
    """Every start with the nearest end at or behind it. start, end [groups, T]"""
    starts, ends = _above(start), _above(end)
    at = np.searchsorted(ends, starts)
    found = at < len(ends)
    starts, stops = starts[found], ends[at[found]]
    together = _groups(starts, start) == _groups(stops, start)
    return Matches(starts[together], stops[together])


def heuristic(start: Chances, end: Chances) -> Matches:
    """Algorithm 1 of LEAR, without its loop. start, end [groups, T]

    Its machine takes starts until an end comes, then ends until a start comes; of each run the most probable counts,
    the first of equals. So a start opens a new span if it is the first of its group or an end stands between it and
    the start before; an end belongs to the last start at or before it. The start of a word counts before its end.
    """
    starts, ends = _above(start), _above(end)
    behind = np.searchsorted(ends, starts)  # ends before each start
    group = _groups(starts, start)
    opens = np.ones(len(starts), bool)
    opens[1:] = (group[1:] != group[:-1]) | (behind[1:] != behind[:-1])
    span = np.cumsum(opens) - 1  # of each start
    owner = np.searchsorted(starts, ends, side="right") - 1
    owned = owner >= 0
    owned[owned] = group[owner[owned]] == _groups(ends[owned], start)
    ends, owner = ends[owned], owner[owned]
    begun, first = _best(span, starts, start)
    ended, last = _best(span[owner], ends, end)
    return Matches(first[np.searchsorted(begun, ended)], last)


def crossed(start: Chances, end: Chances) -> Matches:
    """Every start with every end of its group at or behind it. start, end [groups, T]"""
    starts, ends = _above(start), _above(end)
    border = (_groups(starts, start) + 1) * start.shape[1]
    first, stop = np.searchsorted(ends, starts), np.searchsorted(ends, border)
    count = stop - first
    head = np.repeat(np.arange(len(starts)), count)
    rank = np.arange(len(head)) - np.repeat(np.cumsum(count) - count, count)
    return Matches(starts[head], ends[first[head] + rank])


def _above(chances: Chances) -> Cells:
    return np.flatnonzero(chances > LEAST)


def _groups(cells: Cells, chances: Chances) -> Cells:
    groups: Cells = cells // chances.shape[1]
    return groups


def _best(span: Cells, cells: Cells, chances: Chances) -> tuple[Cells, Cells]:
    """Of each span that occurs, the most probable of its cells, the first of equals."""
    order = np.lexsort((cells, -chances.ravel()[cells], span))
    found, first = np.unique(span[order], return_index=True)
    return found, cells[order[first]]
