"""Model inputs. They hold only arrays: numpy arrays outside a runner, torch tensors inside a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

A = TypeVar("A")
B = TypeVar("B")
Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
Array = NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Words(Generic[A]):
    """B examples of at most T words in P word pieces."""

    pieces: A  # [B, P]   ids of word pieces, special tokens included
    piece_mask: A  # [B, P]   1 where there is a piece
    first_piece: A  # [B, T]   index of each word's first piece
    last_piece: A  # [B, T]   index of its last piece, inclusive
    shapes: A  # [B, T]   word shape of each word, see text.shapes
    present: A  # [B, T]   true where there is a word, false for padding
    scored: A  # [B, T]   true where a word may be part of a prediction, false for padding and context

    def map(self, change: Callable[[A], B]) -> Words[B]:
        return Words(*(change(getattr(self, field.name)) for field in fields(self)))


@dataclass(frozen=True, slots=True)
class Proposals(Generic[A]):
    """N candidate spans and M pairs of them, packed: each span has its example's index. Bounds are half-open.

    Gold labels are multi-hot over E entity and R relation types; without gold they have no columns.
    """

    spans: A  # [N, 3]   example, start, end
    labels: A  # [N, E]   true for the labels that the span has
    pairs: A  # [M, 2]   head and tail, as rows of `spans`; only in training
    relations: A  # [M, R]   1 where the pair has a relation of the type

    def map(self, change: Callable[[A], B]) -> Proposals[B]:
        return Proposals(*(change(getattr(self, field.name)) for field in fields(self)))


@dataclass(frozen=True, slots=True)
class LabelTexts(Generic[A]):
    """The word pieces of the texts that describe C labels, special tokens included."""

    pieces: A  # [C, m]
    mask: A  # [C, m]   true where there is a piece
    content: A  # [C, m]   true for the text's own pieces, false for special tokens and padding

    def map(self, change: Callable[[A], B]) -> LabelTexts[B]:
        return LabelTexts(*(change(getattr(self, field.name)) for field in fields(self)))


@dataclass(frozen=True, slots=True)
class Gold(Generic[A]):
    """Gold annotations. A label that an example was not annotated for is unknown in it, not negative."""

    entities: A  # [G, 4]   example, start, end, label
    outermost: A  # [G]      true for the entities that a tagger can learn
    annotated: A  # [B, E]   true for the labels that an example was annotated for
    sentences: A  # [B]      number of sentences; negatives are counted per sentence

    def map(self, change: Callable[[A], B]) -> Gold[B]:
        return Gold(*(change(getattr(self, field.name)) for field in fields(self)))


@dataclass(frozen=True, slots=True)
class Batch(Generic[A]):
    """Words, candidates, label texts and gold; `partner` holds the candidates of a bundle's second member.

    `relation_labels` are the texts of relations, for models that read them, unless no relation is asked for.
    """

    size: int
    words: Words[A]
    proposals: Proposals[A]
    labels: LabelTexts[A] | None = None
    gold: Gold[A] | None = None
    partner: Proposals[A] | None = None
    relation_labels: LabelTexts[A] | None = None

    def map(self, change: Callable[[A], B]) -> Batch[B]:
        return Batch(
            self.size,
            self.words.map(change),
            self.proposals.map(change),
            None if self.labels is None else self.labels.map(change),
            None if self.gold is None else self.gold.map(change),
            None if self.partner is None else self.partner.map(change),
            None if self.relation_labels is None else self.relation_labels.map(change),
        )

    def for_partner(self) -> Batch[A]:
        """The same batch with the candidates of a bundle's second member, if it has its own."""
        return self if self.partner is None else replace(self, proposals=self.partner, partner=None)

    def require_label_texts(self) -> LabelTexts[A]:
        """Return the label texts, which are set for models whose traits require them."""
        if self.labels is None:
            raise ValueError("this batch was made without the texts of the labels")
        return self.labels

    def require_gold(self) -> Gold[A]:
        """Return the gold annotations, which are set for training."""
        if self.gold is None:
            raise ValueError("this batch was made without gold")
        return self.gold
