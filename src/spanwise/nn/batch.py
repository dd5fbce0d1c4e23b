"""What a model is given: tensors and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """B examples of at most T words in P word pieces, with N candidate spans, M pairs of them and G gold spans.

    Spans are packed, not padded: each row of `spans` and `gold` names its example first, bounds are half-open.
    """

    pieces: Tensor  # [B, P]    ids of word pieces, special tokens included
    piece_mask: Tensor  # [B, P]    1 where there is a piece
    first_piece: Tensor  # [B, T]    where each word's pieces begin
    last_piece: Tensor  # [B, T]    where they end, inclusive
    word_mask: Tensor  # [B, T]    true where there is a word
    shapes: Tensor  # [B, T]    how each word is written: see text.shapes
    spans: Tensor  # [N, 3]    example, start, end; N = 0 for models without candidates
    span_labels: Tensor  # [N]       0 = no entity, 1 + label otherwise; all 0 without gold
    pairs: Tensor  # [M, 2]    head and tail, as rows of `spans`; only in training
    pair_labels: Tensor  # [M, R]    1 where the pair holds a relation of the type
    gold: Tensor  # [G, 4]    example, start, end, label
    gold_flat: Tensor  # [G]       true for the outermost gold spans, which a tagger can learn

    def to(self, device: torch.device) -> Batch:
        return Batch(**{f.name: getattr(self, f.name).to(device, non_blocking=True) for f in fields(self)})

    @property
    def size(self) -> int:
        return self.pieces.shape[0]
