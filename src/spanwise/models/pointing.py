"""What LEAR shares with the two formalisations it is compared with: starts and ends of every label, their losses and
their decoding (LEAR, sections 3.3 and 3.4).

Flat decoding matches starts with ends by probability (Algorithm 1) or by distance; nested decoding asks a classifier
about every start and end that could belong together. Both leave spans of different labels alone, as the paper does;
where the task is flat, the more probable of two that overlap stays, as in every flat model here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from spanwise.models.base import Least, Loss, ModelConfig, Prediction, ScoredSpan, SpanModel, without_overlaps
from spanwise.nn.batch import Batch
from spanwise.nn.pointers import LEAST, Matches, crossed, heuristic, nearest, pointer_targets

CELLS = 2**22  # pairs of words that are looked at together
RARE = 0.01  # how likely a word is to be a start (an end) of a label, before anything is learnt
MatcherKind = Literal["linear", "mlp"]
OF_MATCHER = ("matcher", "pointer_weight", "match_weight")


class PointerConfig(ModelConfig):
    """Options that models of starts and ends share."""

    nested: bool = False
    matching: Literal["heuristic", "nearest"] = "heuristic"  # of starts and ends where nested is off
    matcher: MatcherKind = "linear"  # the classifier where nested is on: eq. 9, or the hidden layer of the public code
    pointer_weight: float = Field(1.0, gt=0)  # α
    match_weight: float = Field(100.0, gt=0)  # β: L_match is a mean over n² cells, L_s and L_e are over n words
    dropout: float = Field(0.1, ge=0, lt=1)

    @model_validator(mode="wrap")
    @classmethod
    def _flat_needs_no_matcher(cls, options: Any, validated: Callable[[Any], Self]) -> Self:
        """Where nested is off these are checked and say nothing: recipes that differ in them alone are one recipe."""
        config = validated(options)
        return config if config.nested else validated({n: v for n, v in options.items() if n not in OF_MATCHER})

    def predicts_nested(self) -> bool:
        return self.nested


class PointerScores(NamedTuple):
    """Of every word and label, before the sigmoid. Of a pair's two ends each has its share, k numbers; none if flat."""

    start: Tensor  # [B, T, C]
    end: Tensor  # [B, T, C]
    heads: Tensor  # [B, T, C, k]
    tails: Tensor  # [B, T, C, k]

    @classmethod
    def of(cls, scores: Tensor) -> PointerScores:
        """[B, T, C, 2 + 2k]: starts, ends, heads and tails"""
        ends = scores[..., 2:]
        heads, tails = ends.chunk(2, dim=-1) if ends.shape[-1] else (ends, ends)
        return cls(scores[..., 0], scores[..., 1], heads, tails)

    def by_label(self) -> PointerScores:
        """The same with labels before words: [B, C, T] and [B, C, T, k]"""
        return PointerScores(*(part.transpose(1, 2) for part in self))


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


def pointer(dim: int, labels: int) -> nn.Linear:
    """Starts or ends from words. Training begins where they are rare, as they are: from one half, the first steps
    would go into unlearning what is wrong of nearly every word and label."""
    layer = nn.Linear(dim, labels)
    nn.init.constant_(layer.bias, math.log(RARE / (1 - RARE)))
    return layer


class PointerModel(SpanModel):
    """Subclasses give `score`; `matcher` is there where the model is nested."""

    config: Any
    matcher: Matcher | None

    def loss(self, scores: PointerScores, batch: Batch) -> Loss:
        """L = L_s + L_e, or α·(L_s + L_e) + β·L_match"""
        share = batch.word_mask / batch.word_mask.sum(-1, keepdim=True) / batch.size  # 1/n   [B, T]
        targets = pointer_targets(batch.gold, scores.start.shape)
        start, end = (
            (F.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(-1) * share).sum()
            for logits, target in zip((scores.start, scores.end), targets, strict=True)
        )
        terms = {"starts": start, "ends": end}
        if self.matcher is None:
            return Loss(start + end, terms)
        terms["matches"] = self._match_loss(self.matcher, scores, batch)
        total = self.config.pointer_weight * (start + end) + self.config.match_weight * terms["matches"]
        return Loss(total, terms)

    def _match_loss(self, matcher: Matcher, scores: PointerScores, batch: Batch) -> Tensor:
        """L_match = 1/n²·Σ CE(P_ij, M_ij) over the cells, i ≤ j, that are gold or that P takes for gold."""
        scores = scores.by_label()
        _, labels, length = scores.start.shape
        row, start, end, label = batch.gold.unbind(-1)
        gold = ((row * labels + label) * length + start) * length + end - 1
        cells = torch.cat((gold, _taken(matcher, scores, batch.word_mask))).unique()
        target = torch.isin(cells, gold).float()
        each = F.binary_cross_entropy_with_logits(_matched(matcher, scores, cells), target, reduction="none")
        words = batch.word_mask.sum(-1)[cells // (labels * length**2)]  # n of each cell's sentence
        return (each / words**2).sum() / batch.size

    def decode(self, scores: PointerScores, batch: Batch, least: Least) -> list[Prediction]:
        scores = scores.by_label()
        size, labels, length = scores.start.shape
        hidden = ~batch.word_mask.unsqueeze(1)
        chances = (logits.sigmoid().masked_fill(hidden, 0.0) for logits in (scores.start, scores.end))
        start, end = (chance.float().cpu().numpy().reshape(-1, length) for chance in chances)
        if self.matcher is not None:
            first, last, sure = self._classified(self.matcher, scores, crossed(start, end))
        else:
            first, last = (heuristic if self.config.matching == "heuristic" else nearest)(start, end)
            sure = np.ones(len(first), np.float32)
        sure = np.minimum(sure, np.minimum(start.ravel()[first], end.ravel()[last]))
        label = first // length % labels
        kept = sure >= least.entities.cpu().numpy()[label]
        spans: list[list[ScoredSpan]] = [[] for _ in range(size)]
        columns = (first // (labels * length), first % length, last % length + 1, label, sure)
        for row, *span in zip(*(column[kept].tolist() for column in columns), strict=True):
            spans[row].append(ScoredSpan(*span))
        return [Prediction(tuple(found if self.nested else without_overlaps(found))) for found in spans]

    def _classified(self, matcher: Matcher, scores: PointerScores, pairs: Matches) -> tuple[Any, Any, Any]:
        """The pairs that the classifier joins, with the probability it gives them."""
        length = scores.start.shape[-1]
        cells = torch.from_numpy(pairs.first * length + pairs.last % length).to(scores.start.device)
        blocks = [_matched(matcher, scores, block) for block in cells.split(CELLS // scores.heads.shape[-1])]
        sure = torch.cat(blocks).sigmoid().float().cpu().numpy() if blocks else np.zeros(0, np.float32)
        kept = sure > LEAST
        return pairs.first[kept], pairs.last[kept], sure[kept]


def _matched(matcher: Matcher, scores: PointerScores, cells: Tensor) -> Tensor:
    """The scores of cells ((b·C + c)·T + i)·T + j, labels before words. -> [N]"""
    _, labels, length = scores.start.shape
    head, last = cells // length, cells % length
    group = head // length
    heads, tails = scores.heads.flatten(0, 2), scores.tails.flatten(0, 2)
    logits: Tensor = matcher(heads[head], tails[group * length + last], group % labels)
    return logits


@torch.no_grad()
def _taken(matcher: Matcher, scores: PointerScores, word_mask: Tensor) -> Tensor:
    """The cells with i ≤ j between real words whose P is above one half, looked for in blocks of heads. -> [N]"""
    _, labels, length = scores.start.shape
    heads, tails = scores.heads.flatten(0, 2), scores.tails.flatten(0, 1)
    real = word_mask.unsqueeze(1).expand(scores.start.shape).flatten(0, 1)  # [B·C, T]
    place = torch.arange(length, device=real.device)
    found = []
    for rows in real.flatten().nonzero().squeeze(1).split(max(1, CELLS // tails[0].numel())):
        group = rows // length
        logits = matcher(heads[rows].unsqueeze(1), tails[group], (group % labels).unsqueeze(1))  # [N, T]
        taken = (logits > 0) & real[group] & (place >= (rows % length).unsqueeze(1))
        row, last = taken.nonzero(as_tuple=True)
        found.append(rows[row] * length + last)
    return torch.cat(found)
