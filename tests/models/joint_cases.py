"""Invented sentences for the joint models: random words, no encoder, entities in every position to each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import joint_oracle as paper
import numpy as np
import torch
from torch import nn

from spanwise.batching import collate
from spanwise.document import Document
from spanwise.models.base import SpanModel
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import Encoded
from spanwise.schema import EntityType, RelationType, Schema
from spanwise.text.examples import Example
from spanwise.text.windows import Window

DIM, WIDEST = 8, 4
SCHEMA = Schema(tuple(map(EntityType, ("Drug", "Effect", "Dose"))), tuple(map(RelationType, ("causes", "of"))))


class Marked(NamedTuple):
    """A sentence of so many words; entities as start, end and type, relations as head, tail and type."""

    length: int
    entities: list[tuple[int, int, int]]
    relations: list[tuple[int, int, int]]

    def pairs(self, widest: int = WIDEST) -> dict[tuple[paper.Span, paper.Span], set[int]]:
        """All ordered pairs of two different entities that are no wider, with the types they hold."""
        spans = [entity[:2] for entity in self.entities if entity[1] - entity[0] <= widest]
        held = {(head, tail): set[int]() for head in spans for tail in spans if head != tail}
        for head, tail, kind in self.relations:
            if (ends := (self.entities[head][:2], self.entities[tail][:2])) in held:
                held[ends].add(kind)
        return held


SENTENCES = (
    Marked(
        9,
        # that touch (0, 1), overlap (0, 2), lie inside (2, 1) or apart (0, 3), start together (3, 4), and a wide one
        [(0, 2, 0), (2, 3, 1), (1, 4, 2), (6, 9, 0), (6, 7, 1), (3, 8, 1)],
        [(0, 1, 0), (0, 1, 1), (3, 0, 1), (2, 3, 1), (3, 4, 0), (5, 0, 0)],
    ),
    Marked(1, [(0, 1, 2)], []),
    Marked(5, [(0, 1, 1), (0, 1, 2), (4, 5, 0)], [(2, 0, 0), (1, 2, 1)]),  # two labels on one span
    Marked(6, [], []),
)


class NoEncoder(nn.Module):
    dim = DIM


def build(model: Any, **options: Any) -> Any:
    """The model without an encoder, all its weights drawn at random."""
    config = model.Config(max_width=WIDEST, width_dim=5, dropout=0.0, **options)
    built = model(NoEncoder(), config, SCHEMA)
    generator = torch.Generator().manual_seed(29)
    for parameter in built.parameters():
        nn.init.normal_(parameter, std=0.4, generator=generator)
    return built.eval()


def example(sentence: Marked) -> Example:
    length, gold, relations = sentence
    return Example(
        Document(""),
        Window(0, length, 0, length),
        np.zeros(length + 2, np.int64),
        np.ones(length, np.int64),
        np.zeros(length, np.int64),
        np.array(gold, np.int64).reshape(-1, 3),
        np.ones(len(gold), np.bool_),
        np.array(relations, np.int64).reshape(-1, 3),
    )


def batch_of(model: SpanModel, *, training: bool = False) -> Batch:
    """The sentences in one batch; in training with all negatives, of which there are fewer than are sampled."""
    rng = np.random.default_rng(0) if training else None
    return collate([example(sentence) for sentence in SENTENCES], 0, 1, model.candidates, rng)


def encoded() -> Encoded:
    """Random words, and where there are none, numbers that would not go unnoticed."""
    generator = torch.Generator().manual_seed(6)
    longest = max(sentence.length for sentence in SENTENCES)
    words = torch.randn(len(SENTENCES), longest, DIM, generator=generator)
    for row, sentence in enumerate(SENTENCES):
        words[row, sentence.length :] = 1e3
    return Encoded(words, torch.randn(len(SENTENCES), DIM, generator=generator))


def sentences() -> list[paper.Sentence]:
    """The same words as an oracle takes them."""
    given = encoded()
    return [
        paper.Sentence(given.sentence[row].double(), list(given.words[row, : sentence.length].double()))
        for row, sentence in enumerate(SENTENCES)
    ]
