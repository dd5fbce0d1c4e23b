"""Pointers to the starts and ends of spans: layers and targets (LEAR, sections 3.3 and 3.4)."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PRIOR_PROBABILITY = 0.01  # initial probability that a word starts (or ends) a span of a label
CELLS = 2**22  # values per block of scored word pairs
MatcherKind = Literal["linear", "mlp"]


class MatchFeatures(NamedTuple):
    """Contributions of a pair's start and end word to its score, k values each; k is 0 without a matcher."""

    heads: Tensor  # [B, T, C, k]
    tails: Tensor  # [B, T, C, k]

    def by_label(self) -> MatchFeatures:
        """The same with labels before words: [B, C, T, k]"""
        return MatchFeatures(self.heads.transpose(1, 2), self.tails.transpose(1, 2))


class Matcher(nn.Module):
    """P_ij = σ(M·[ĥ_i; ĥ_j]) (eq. 9). M is applied to each word once per side, so that no pairs are concatenated.

    `mlp` follows the public code instead: a hidden layer with GELU and an output vector per label. `rows` is the
    number of labels with their own weights, or 1 if the input vectors are already specific to a label.
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
        head = cells // length
        last, group = cells - head * length, head // length  # the exporter knows no remainder by a size
        label = group - group // labels * labels
        logits: Tensor = self(heads.flatten(0, 2)[head], tails.flatten(0, 2)[group * length + last], label)
        return logits


def pointer_layer(dim: int, labels: int) -> nn.Linear:
    """Linear layer that scores words as starts or ends. Its bias gives a low initial probability because both are
    rare: from one half, the first steps would only unlearn wrong predictions for nearly every word and label."""
    layer = nn.Linear(dim, labels)
    nn.init.constant_(layer.bias, math.log(PRIOR_PROBABILITY / (1 - PRIOR_PROBABILITY)))
    return layer


def pointer_targets(gold: Tensor, shape: torch.Size) -> tuple[Tensor, Tensor]:
    """S and E: 1 where a gold span of the label starts or ends. gold [G, 4] -> [B, T, C] each"""
    row, start, end, label = gold.unbind(-1)
    starts, ends = (torch.zeros(shape, device=gold.device) for _ in range(2))
    starts[row, start, label] = 1.0
    ends[row, end - 1, label] = 1.0
    return starts, ends


def gold_cells(gold: Tensor, labels: int, length: int) -> Tensor:
    """The pairs that are gold spans, numbered as in `Matcher.cells`. gold [G, 4] -> [G]"""
    row, start, end, label = gold.unbind(-1)
    return ((row * labels + label) * length + start) * length + end - 1


@torch.no_grad()
def matched_cells(matcher: Matcher, features: MatchFeatures, scored: Tensor) -> Tensor:
    """Pairs i ≤ j of scored words with P above one half, computed in blocks of heads. -> [N]"""
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
