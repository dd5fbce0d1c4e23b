"""Candidate spans and pairs: all spans up to a width or, in training, gold ones and a sample of the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np

from spanwise.seam.batch import Array, Bools, Floats, Ints, Proposals
from spanwise.seam.component import Component
from spanwise.text.examples import Example

ALL_NEGATIVES = 2**31  # more than any example has


@dataclass(frozen=True, slots=True)
class Negatives:
    """Largest number of negative candidates per training sentence: fixed, or a multiple of the gold candidates."""

    number: int
    per_gold: bool = False

    def limit(self, gold: int, sentences: int) -> int:
        """For an example with this many gold candidates and sentences."""
        return self.number * (max(gold, sentences) if self.per_gold else sentences)


@dataclass(frozen=True)
class Proposer(Component, ABC):
    """Proposes candidates as arrays. In training it gets a random generator and returns gold and sampled ones."""

    @abstractmethod
    def propose(self, examples: Sequence[Example], labels: int, rng: np.random.Generator | None) -> Proposals[Array]:
        """Candidates of a batch; `labels` is the number of entity types."""


@dataclass(frozen=True)
class SpanProposer(Proposer):
    """All spans of scored words up to a width; in training, gold spans, sampled negatives and pairs of gold spans."""

    kind: ClassVar[str] = "spans"

    max_width: int
    negatives: Negatives
    merge_labels: bool = False  # a span with several labels is one candidate, not one per label
    pairs: Negatives | None = None
    relations: int = 0  # number of relation types

    def propose(self, examples: Sequence[Example], labels: int, rng: np.random.Generator | None) -> Proposals[Array]:
        if rng is None:
            return unlabeled_proposals(stack_examples([self._all(example) for example in examples]))
        gold = [self._gold(example, labels) for example in examples]
        negative = [
            sample_negatives(e.scored_words, self.max_width, known.spans - e.first_scored, known.limit, rng)
            for e, known in zip(examples, gold, strict=True)
        ]
        spans, targets = [], []
        for example, known, other in zip(examples, gold, negative, strict=True):
            spans.append(np.concatenate((known.spans, other + example.first_scored)))
            targets.append(np.concatenate((known.labels, np.zeros((len(other), labels), np.bool_))))
        pairs, relations = self._pairs(examples, gold, [len(rows) for rows in spans], rng)
        return Proposals(stack_examples(spans), np.concatenate(targets), pairs, relations)

    def _all(self, example: Example) -> Ints:
        spans = all_spans(example.scored_words, self.max_width)
        return spans + example.first_scored if example.first_scored else spans

    def _gold(self, example: Example, labels: int) -> _GoldSpans:
        """The gold spans of at most `max_width` words, and the row of each gold entity among them, if any."""
        fits = example.gold[:, 1] - example.gold[:, 0] <= self.max_width
        spans, place = example.gold[fits, :2], np.cumsum(fits) - 1
        if self.merge_labels and len(spans):
            _, first, inverse = np.unique(spans, axis=0, return_index=True, return_inverse=True)
            order = np.argsort(first)  # in the order of the example
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order))
            spans, place = spans[first[order]], rank[inverse.ravel()][place]
        held = np.zeros((len(spans), labels), np.bool_)
        held[place[fits], example.gold[fits, 2]] = True
        return _GoldSpans(spans, held, np.where(fits, place, -1), self.negatives.limit(len(spans), example.sentences))

    def _pairs(
        self, examples: Sequence[Example], gold: Sequence[_GoldSpans], sizes: Sequence[int], rng: np.random.Generator
    ) -> tuple[Ints, Floats]:
        """Gold and sampled pairs, as rows of the batch's spans. The gold spans of an example come first."""
        if self.pairs is None:
            return np.zeros((0, 2), np.int64), np.zeros((0, self.relations), np.float32)
        rows, types = [], []
        offsets = np.cumsum([0, *sizes[:-1]])
        for example, known, offset in zip(examples, gold, offsets, strict=True):
            heads, tails = known.place[example.relations[:, 0]], known.place[example.relations[:, 1]]
            links = np.stack((heads, tails, example.relations[:, 2]), axis=1)[(heads >= 0) & (tails >= 0)]
            pairs, held = sample_pairs(
                known.spans, links, self.relations, partial(self.pairs.limit, sentences=example.sentences), rng
            )
            rows.append(pairs + offset)
            types.append(held)
        return np.concatenate(rows), np.concatenate(types)


@dataclass(frozen=True, slots=True)
class _GoldSpans:
    spans: Ints  # [K, 2]
    labels: Bools  # [K, E]
    place: Ints  # [G]   row of each of the example's gold entities, -1 if it is too wide
    limit: int  # largest number of negatives


def unlabeled_proposals(spans: Ints) -> Proposals[Array]:
    """Candidates without gold. spans [N, 3]"""
    return Proposals(
        spans, np.zeros((len(spans), 0), np.bool_), np.zeros((0, 2), np.int64), np.zeros((0, 0), np.float32)
    )


def empty_proposals() -> Proposals[Array]:
    """Proposals for models that score words."""
    return unlabeled_proposals(np.zeros((0, 3), np.int64))


def stack_examples(rows: Sequence[Ints]) -> Ints:
    """Concatenate the rows of all examples, each prefixed with its example's index."""
    index = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return np.concatenate((index[:, None], np.concatenate(rows)), axis=1)


@lru_cache(maxsize=4096)
def all_spans(length: int, max_width: int) -> Ints:
    """Every [start, end) of at most `max_width` words in a sentence of `length` words. -> [M, 2]"""
    widest = min(max_width, length)
    start, width = np.divmod(np.arange(length * widest, dtype=np.int64), max(widest, 1))
    end = start + width + 1
    inside = end <= length
    spans = np.stack((start[inside], end[inside]), axis=1)
    spans.setflags(write=False)
    return spans


def sample_negatives(length: int, max_width: int, gold: Ints, limit: int, rng: np.random.Generator) -> Ints:
    """BL-NER eq. 20: sample min(|S|, limit) spans that are not gold, without replacement. -> [D, 2]"""
    spans = all_spans(length, max_width)
    taken = gold[:, 0] * (length + 1) + gold[:, 1]
    negative = spans[~np.isin(spans[:, 0] * (length + 1) + spans[:, 1], taken)]
    if len(negative) <= limit:
        return negative
    return negative[rng.choice(len(negative), limit, replace=False, shuffle=False)]


def sample_pairs(
    spans: Ints, links: Ints, types: int, limit: Callable[[int], int], rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """The pairs of gold spans with a relation, and at most `limit(number of them)` sampled pairs without one.

    Entities on the same span count as one. spans [G, 2]; links [Q, 3]: head, tail, type
    -> pairs [M, 2] as rows of `spans`, and their relation types, multi-hot [M, types]
    """
    if not len(spans):
        return np.zeros((0, 2), np.int64), np.zeros((0, types), np.float32)
    code = spans[:, 0] * (spans.max() + 1) + spans[:, 1]
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    size = len(first)
    held = np.zeros((size * size, types), np.float32)
    held[number[links[:, 0]] * size + number[links[:, 1]], links[:, 2]] = 1
    apart = ~np.eye(size, dtype=bool).ravel()
    positive = np.flatnonzero(held.any(1) & apart)
    negative = np.flatnonzero(~held.any(1) & apart)
    wanted = limit(len(positive))
    if len(negative) > wanted:
        negative = negative[rng.choice(len(negative), wanted, replace=False, shuffle=False)]
    chosen = np.concatenate((positive, negative))
    return np.stack((first[chosen // size], first[chosen % size]), axis=1), held[chosen]
