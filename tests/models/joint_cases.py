"""Invented sentences for the joint models: random words, no encoder, entities in every position to each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import joint_oracle as paper
import numpy as np
import torch
from torch import Tensor, nn

import invented_examples
from spanwise.pipeline.collate import collate
from spanwise.pipeline.torch_runner import TorchRunner
from spanwise.schema import EntityType, RelationType, Schema
from spanwise.seam.batch import Batch
from spanwise.seam.decoder import PredictedSpans, Prediction, ScoreThresholds
from spanwise.seam.encoding import Encoded
from spanwise.seam.runner import run_stages
from spanwise.text.examples import Example

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


class FixedEncoder(nn.Module):
    """Gives the same vectors, those of `encoded`, for any words."""

    dim = DIM

    def forward(self, words: Any, hidden_states: int = 0) -> Encoded:
        return encoded()


def build(model: Any, **options: Any) -> Any:
    """The model without a transformer, all its weights drawn at random."""
    config = model.Config(max_width=WIDEST, width_dim=5, dropout=0.0, **options)
    built = model(FixedEncoder(), config, SCHEMA)
    generator = torch.Generator().manual_seed(29)
    for parameter in built.parameters():
        nn.init.normal_(parameter, std=0.4, generator=generator)
    return built.eval()


def example(sentence: Marked) -> Example:
    return invented_examples.example(
        [1] * sentence.length, sentence.entities, relations=sentence.relations, labels=len(SCHEMA.entities)
    )


def batch_of(model: Any, *, training: bool = False) -> Batch[Tensor]:
    """The sentences in one batch; in training with all negatives, of which there are fewer than are sampled."""
    rng = np.random.default_rng(0) if training else None
    examples, proposer = [example(sentence) for sentence in SENTENCES], model.config.proposer(SCHEMA)
    return collate(examples, invented_examples.PIECES, proposer, gold=True, rng=rng).map(torch.from_numpy)


def predictions(model: Any, thresholds: ScoreThresholds, given: PredictedSpans | None = None) -> list[Prediction]:
    """What the model predicts for the sentences."""
    batch = batch_of(model).map(lambda tensor: tensor.numpy())
    return run_stages(TorchRunner(model), model.config.decoder(SCHEMA), batch, thresholds, given)


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
