"""From scores to spans and relations: what every model that classifies spans or pairs reads out in the same way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from spanwise.models.base import Prediction, ScoredRelation, ScoredSpan, without_overlaps
from spanwise.schema import Schema

PAIRS_AT_ONCE = 2048  # however many entities a sentence has, no more pairs than these are in memory together


class Found(NamedTuple):
    """K entities of a batch, ordered by example: bounds, labels and probabilities."""

    spans: Tensor  # [K, 3]   example, start, end
    labels: Tensor  # [K]
    scores: Tensor  # [K]


def entities_of(scores: Tensor, spans: Tensor, least: Tensor, *, nested: bool) -> Found:
    """Spans whose best class is a type and sure enough; in flat mode, of those that overlap, the most probable.

    scores [N, 1 + E] with None first; spans [N, 3]; least [E]
    """
    probability, label = scores.softmax(-1).max(-1)
    entity = label > 0
    entity &= probability >= least[(label - 1).clamp(min=0)]
    found = Found(spans[entity], label[entity] - 1, probability[entity])
    if nested or not len(found.spans):
        return found
    rows = torch.tensor(list(_flat_rows(found)), device=spans.device)
    return Found(*(tensor[rows] for tensor in found))


def _flat_rows(found: Found) -> Iterator[int]:
    """The rows that heuristic decoding keeps, example by example."""
    examples: dict[int, dict[ScoredSpan, int]] = {}
    for row, (example, span) in enumerate(_listed(found)):
        examples.setdefault(example, {})[span] = row
    for rows in examples.values():
        yield from (rows[span] for span in without_overlaps(rows))


def _listed(found: Found) -> Iterator[tuple[int, ScoredSpan]]:
    for (example, start, end), label, score in zip(*(tensor.tolist() for tensor in found), strict=True):
        yield example, ScoredSpan(start, end, label, score)


class PairFilter(nn.Module):
    """Which types a pair of entities may hold: those whose arguments the schema allows.

    A symmetric relation is read once, from the pair in the order of the text.
    """

    symmetric: Tensor  # [R]
    allowed: Tensor  # [E, E, R]

    def __init__(self, schema: Schema) -> None:
        super().__init__()
        names = schema.entity_names
        symmetric = torch.tensor([r.symmetric for r in schema.relations], dtype=torch.bool)
        heads = torch.tensor([[n in (r.head_types or names) for n in names] for r in schema.relations])
        tails = torch.tensor([[n in (r.tail_types or names) for n in names] for r in schema.relations])
        shape = (len(schema.relations), len(names))
        heads, tails = heads.view(shape).bool(), tails.view(shape).bool()
        either = heads.unsqueeze(2) & tails.unsqueeze(1)  # [R, E, E]
        swapped = either.transpose(1, 2) & symmetric.view(-1, 1, 1)
        self.register_buffer("symmetric", symmetric, persistent=False)
        self.register_buffer("allowed", (either | swapped).permute(1, 2, 0), persistent=False)

    def possible(self, found: Found, pairs: Tensor) -> Tensor:
        """By the arguments alone, in whichever order. -> [M, R]"""
        return self.allowed[found.labels[pairs[:, 0]], found.labels[pairs[:, 1]]]

    def forward(self, found: Found, pairs: Tensor) -> Tensor:
        """-> [M, R]"""
        head, tail = pairs.unbind(-1)
        start, end = found.spans[:, 1], found.spans[:, 2]
        in_order = (start[head] < start[tail]) | ((start[head] == start[tail]) & (end[head] < end[tail]))
        return self.possible(found, pairs) & (in_order.unsqueeze(-1) | ~self.symmetric)


def pairs_of(found: Found, allowed: PairFilter, at_once: int = PAIRS_AT_ONCE) -> Iterator[tuple[Tensor, Tensor]]:
    """Every ordered pair of two spans of one example that may hold a relation, at most `at_once` together.

    -> pairs [M, 2] as rows of `found`, and the types they may hold [M, R]
    """
    example = found.spans[:, 0]
    if not len(example):
        return
    _, group, size = example.unique_consecutive(return_inverse=True, return_counts=True)
    before = size.cumsum(0) - size  # entities before each example's own
    most = size[group]  # [K]   pairs that each entity heads, itself included
    ends = most.cumsum(0)
    total = int(ends[-1])
    for at in range(0, total, at_once):
        number = torch.arange(at, min(at + at_once, total), device=example.device)
        head = torch.searchsorted(ends, number, right=True)
        tail = before[group[head]] + number - (ends[head] - most[head])
        pairs = torch.stack((head, tail), dim=1)
        pairs = pairs[(found.spans[head] != found.spans[tail]).any(-1)]
        types = allowed(found, pairs)
        kept = types.any(-1)
        if kept.any():
            yield pairs[kept], types[kept]


class Linked(NamedTuple):
    """Q relations between found entities, as rows of them."""

    pairs: Tensor  # [Q, 2]
    labels: Tensor  # [Q]
    scores: Tensor  # [Q]


def relations_of(probability: Tensor, pairs: Tensor, allowed: Tensor, least: Tensor) -> Linked:
    """The types of each pair that are allowed and sure enough. probability, allowed [M, R]; pairs [M, 2]; least [R]"""
    row, label = (allowed & (probability >= least)).nonzero(as_tuple=True)
    return Linked(pairs[row], label, probability[row, label])


def gathered(found: Found, size: int, linked: Linked | None = None) -> list[Prediction]:
    """One prediction per example of the batch."""
    spans: list[list[ScoredSpan]] = [[] for _ in range(size)]
    place = []
    for example, span in _listed(found):
        place.append((example, len(spans[example])))
        spans[example].append(span)
    relations: list[list[ScoredRelation]] = [[] for _ in range(size)]
    if linked is not None:
        for (head, tail), label, score in zip(*(tensor.tolist() for tensor in linked), strict=True):
            example, first = place[head]
            relations[example].append(ScoredRelation(first, place[tail][1], label, score))
    return [Prediction(tuple(s), tuple(r)) for s, r in zip(spans, relations, strict=True)]
