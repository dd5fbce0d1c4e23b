"""Span representations with one signature: encoded words and span bounds in, span vectors out."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from spanwise.nn.encoder import Encoded
from spanwise.nn.pooling import span_max

Representation = Literal["boundary", "pooling", "hybrid"]


class SpanRepresentation(nn.Module):
    """BL-NER eqs. 13 to 15: what the parts named by `how` say about a span, side by side.

    boundary: first and last word; pooling: maximum over the span and the sentence's vector; hybrid: all of them.
    Each ends with a learned embedding of the span's width.
    """

    def __init__(self, how: Representation, dim: int, max_width: int, width_dim: int) -> None:
        super().__init__()
        self.how = how
        self.max_width = max_width
        self.widths = nn.Embedding(max_width, width_dim)
        self.dim = {"boundary": 2, "pooling": 2, "hybrid": 4}[how] * dim + width_dim

    def forward(self, encoded: Encoded, spans: Tensor) -> Tensor:
        """spans [N, 3]: example, start, end -> [N, dim]"""
        row, first, last = spans[:, 0], spans[:, 1], spans[:, 2] - 1
        length, dim = encoded.words.shape[1:]
        words = encoded.words.reshape(-1, dim)
        parts = []
        if self.how != "pooling":
            parts += [words.index_select(0, row * length + first), words.index_select(0, row * length + last)]
        if self.how != "boundary":
            pooled = span_max(encoded.words, row, first, last, self.max_width)
            parts += [pooled, encoded.sentence.index_select(0, row)]
        return torch.cat([*parts, self.widths(last - first)], dim=-1)
