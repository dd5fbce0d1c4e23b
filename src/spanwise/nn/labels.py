"""Texts of labels, read by the encoder that reads the text (LEAR, section 3.1)."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.seam.batch import LabelTexts
from spanwise.seam.encoding import Encoder

TEXTS_PER_BATCH = 8  # texts that are encoded together


class LabelTokens(NamedTuple):
    """What is known of C labels, token by token."""

    vectors: Tensor  # [C, m, d]   h_Y
    content: Tensor  # [C, m]   true where a token takes part in attention

    @classmethod
    def single(cls, vectors: Tensor) -> LabelTokens:
        """One token per label. vectors [C, d]"""
        return cls(vectors.unsqueeze(1), torch.ones(len(vectors), 1, dtype=torch.bool, device=vectors.device))

    def mean(self) -> Tensor:
        """Over the tokens that count. -> [C, d]"""
        return masked_mean(self.vectors, self.content)


def encode_texts(encoder: Encoder, texts: LabelTexts[Tensor]) -> LabelTokens:
    """h_Y = f₁(Y); texts of similar length together, so that few of the pieces that are read are padding."""
    length = texts.mask.sum(-1)
    order = length.argsort()
    parts = []
    for rows in order.split(TEXTS_PER_BATCH):
        longest = int(length[rows].max())
        hidden = encoder.hidden(texts.pieces[rows, :longest], texts.mask[rows, :longest].long())
        parts.append(F.pad(hidden, (0, 0, 0, texts.pieces.shape[1] - longest)))
    return LabelTokens(torch.cat(parts)[order.argsort()], texts.content)


def masked_mean(vectors: Tensor, content: Tensor) -> Tensor:
    """[C, m, d], [C, m] -> [C, d]"""
    share = content.unsqueeze(-1).to(vectors.dtype)
    return (vectors * share).sum(1) / share.sum(1)
