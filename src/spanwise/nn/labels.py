"""Descriptions of labels, read by the encoder that reads the text (LEAR, section 3.1).

In training they are read anew at every step. At inference, without gradients, they are read once; what was read is a
buffer, which is stored with the model, and holds until the encoder or the descriptions change. Writes that torch does
not count (through `.data`, or by a fused optimiser) are noticed when the model has been in training mode since.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.nn.encoder import WordEncoder

TOGETHER = 8  # descriptions that are encoded together


class LabelPieces(NamedTuple):
    """The word pieces of C descriptions, special tokens included."""

    pieces: Tensor  # [C, m]
    mask: Tensor  # [C, m]   true where there is a piece
    content: Tensor  # [C, m]   true where it is one of the description's own


PiecesOf = Callable[[Sequence[str]], LabelPieces]


class LabelTokens(NamedTuple):
    """What is known of C labels, token by token."""

    vectors: Tensor  # [C, m, d]   h_Y
    content: Tensor  # [C, m]   true where a token takes part in attention

    @classmethod
    def single(cls, vectors: Tensor) -> LabelTokens:
        """One token per label. vectors [C, d]"""
        return cls(vectors.unsqueeze(1), torch.ones(len(vectors), 1, dtype=torch.bool, device=vectors.device))


class LabelReader(nn.Module):
    """h_Y = f₁(Y), with the text's own encoder, which is passed in and not owned."""

    pieces: Tensor
    mask: Tensor
    content: Tensor
    read: Tensor
    read_by: Tensor

    def __init__(self, labels: LabelPieces, dim: int) -> None:
        super().__init__()
        for name, tensor in labels._asdict().items():
            self.register_buffer(name, tensor, persistent=False)
        self.register_buffer("read", torch.zeros(*labels.pieces.shape, dim))
        self.register_buffer("read_by", torch.zeros((), dtype=torch.long))
        self._known: tuple[int, ...] = ()

    def train(self, mode: bool = True) -> Self:
        """Training may change the encoder without torch counting it."""
        self._known = () if mode else self._known
        return super().train(mode)

    def forward(self, encoder: WordEncoder) -> LabelTokens:
        if self.training or torch.is_grad_enabled():
            hidden = self._encoded(encoder)
        else:
            self.renew(encoder)
            hidden = self.read
        return LabelTokens(hidden, self.content)

    def _encoded(self, encoder: WordEncoder) -> Tensor:
        """Descriptions of like length together, so that few of the pieces that are read are padding. -> [C, m, d]"""
        length = self.mask.sum(-1)
        order = length.argsort()
        parts = []
        for rows in order.split(TOGETHER):
            longest = int(length[rows].max())
            hidden = encoder.hidden(self.pieces[rows, :longest], self.mask[rows, :longest].long())
            parts.append(F.pad(hidden, (0, 0, 0, self.pieces.shape[1] - longest)))
        return torch.cat(parts)[order.argsort()]

    @torch.no_grad()
    def renew(self, encoder: WordEncoder) -> None:
        """Read the descriptions if what is stored was read by other weights, or from other pieces."""
        weights = list(encoder.transformer.parameters())
        known = state_of(weights)
        if known == self._known:
            return
        reader = _checksum([*weights, self.pieces])
        if reader != int(self.read_by):
            with torch.autocast(self.read.device.type, enabled=False):  # what is stored has full precision
                self.read.copy_(self._encoded(encoder))
            self.read_by.fill_(reader)
        self._known = known


def state_of(tensors: Iterable[Tensor]) -> tuple[int, ...]:
    """Numbers that change when a tensor is replaced or written to, as far as torch counts the writes."""
    return tuple(n for t in tensors for n in (t.data_ptr(), 0 if t.is_inference() else t._version))


def _checksum(tensors: Iterable[Tensor]) -> int:
    """Of all bytes, in their order; never 0, which stands for nothing read."""
    found = 0
    for tensor in tensors:
        found = zlib.crc32(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().data, found)
    return 1 + found
