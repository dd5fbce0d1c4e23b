"""Label texts, encoded by the same encoder as the input text (LEAR, section 3.1)."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.seam.batch import LabelTexts
from spanwise.seam.encoding import Encoder

TEXTS_PER_BATCH = 8  # label texts encoded together


class LabelTokens(NamedTuple):
    """Token vectors of C labels."""

    vectors: Tensor  # [C, m, d]   h_Y
    content: Tensor  # [C, m]   true where words may attend to the token

    @classmethod
    def single(cls, vectors: Tensor) -> LabelTokens:
        """One token per label. vectors [C, d]"""
        return cls(vectors.unsqueeze(1), torch.ones(len(vectors), 1, dtype=torch.bool, device=vectors.device))

    def mean(self) -> Tensor:
        """Mean over the content tokens. -> [C, d]"""
        return masked_mean(self.vectors, self.content)


def encode_texts(encoder: Encoder, texts: LabelTexts[Tensor]) -> LabelTokens:
    """h_Y = f₁(Y); batches texts of similar length to reduce padding."""
    if torch.compiler.is_exporting():
        return LabelTokens(encoder.hidden(texts.pieces, texts.mask.long()), texts.content)
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
