"""Where spans start and end: layers and targets of pointers (LEAR, sections 3.3 and 3.4)."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PRIOR_PROBABILITY = 0.01  # of a word to be a start (an end) of a label, before anything is learned
CELLS = 2**22  # pairs of words that are looked at together
MatcherKind = Literal["linear", "mlp"]


class MatchFeatures(NamedTuple):
    """What the two ends of a pair contribute to its score, k numbers each; none without a matcher."""

    heads: Tensor  # [B, T, C, k]
    tails: Tensor  # [B, T, C, k]

    def by_label(self) -> MatchFeatures:
        """The same with labels before words: [B, C, T, k]"""
        return MatchFeatures(self.heads.transpose(1, 2), self.tails.transpose(1, 2))


class Matcher(nn.Module):
    """P_ij = σ(M·[ĥ_i; ĥ_j]) (eq. 9): each end's share is computed once, so that no pair is laid side by side.

    The public code has a hidden layer with GELU and a vector per label instead (`mlp`). `rows` labels have weights of
    their own; what comes in is a label's own vector already where one row serves all.
    """

    def __init__(self, kind: MatcherKind, dim: int, rows: int) -> None:
        super().__init__()
        self.rows = rows
        self.weigh = None if kind == "linear" else nn.Parameter(torch.empty(rows, dim))
        if self.weigh is not None:
            nn.init.normal_(self.weigh, std=dim**-0.5)
        width = rows if kind == "linear" else dim
        self.head = nn.Linear(dim, width, bias=kind == "mlp")
        self.tail = nn.Linear(dim, width, bias=False)

    def forward(self, head: Tensor, tail: Tensor, label: Tensor) -> Tensor:
        """head, tail [N, k]; label [N] -> [N]"""
        both = head + tail
        if self.weigh is None:
            return both.squeeze(-1)
        return (F.gelu(both) * self.weigh[label % self.rows]).sum(-1)

    def cells(self, features: MatchFeatures, cells: Tensor) -> Tensor:
        """Logits of pairs numbered ((b·C + c)·T + i)·T + j. features with words before labels -> [N]"""
        heads, tails = features.by_label()
        labels, length = heads.shape[1:3]
        head, last = cells // length, cells % length
        group = head // length
        logits: Tensor = self(heads.flatten(0, 2)[head], tails.flatten(0, 2)[group * length + last], group % labels)
        return logits


def pointer_layer(dim: int, labels: int) -> nn.Linear:
    """Starts or ends from words. Training begins where they are rare, as they are: from one half, the first steps
    would go into unlearning what is wrong of nearly every word and label."""
    layer = nn.Linear(dim, labels)
    nn.init.constant_(layer.bias, math.log(PRIOR_PROBABILITY / (1 - PRIOR_PROBABILITY)))
    return layer


def pointer_targets(gold: Tensor, shape: torch.Size) -> tuple[Tensor, Tensor]:
    """S and E: 1 where a gold span of the label starts, and where one ends. gold [G, 4] -> [B, T, C] each"""
    row, start, end, label = gold.unbind(-1)
    starts, ends = (torch.zeros(shape, device=gold.device) for _ in range(2))
    starts[row, start, label] = 1.0
    ends[row, end - 1, label] = 1.0
    return starts, ends


def gold_cells(gold: Tensor, labels: int, length: int) -> Tensor:
    """The pairs that are gold spans, numbered as `Matcher.cells` does. gold [G, 4] -> [G]"""
    row, start, end, label = gold.unbind(-1)
    return ((row * labels + label) * length + start) * length + end - 1


@torch.no_grad()
def matched_cells(matcher: Matcher, features: MatchFeatures, scored: Tensor) -> Tensor:
    """The pairs with i ≤ j of scored words whose P is above one half, looked for in blocks of heads. -> [N]"""
    heads, tails = features.by_label()
    labels, length = heads.shape[1:3]
    heads, tails = heads.flatten(0, 2), tails.flatten(0, 1)
    real = scored.unsqueeze(1).expand(-1, labels, -1).flatten(0, 1)  # [B·C, T]
    place = torch.arange(length, device=real.device)
    found = []
    for rows in real.flatten().nonzero().squeeze(1).split(max(1, CELLS // tails[0].numel())):
        group = rows // length
        logits = matcher(heads[rows].unsqueeze(1), tails[group], (group % labels).unsqueeze(1))  # [N, T]
        taken = (logits > 0) & real[group] & (place >= (rows % length).unsqueeze(1))
        row, last = taken.nonzero(as_tuple=True)
        found.append(rows[row] * length + last)
    return torch.cat(found)
