"""Span representations with one signature: word vectors and span bounds in, span vectors out."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.nn.pooling import MAX_EXPORT_LENGTH, span_max
from spanwise.seam.encoding import Encoded

Representation = Literal["boundary", "pooling", "hybrid"]


def max_pool_spans(words: Tensor, spans: Tensor, widest: int, *, given: bool = False) -> Tensor:
    """Maximum over each span's words. With `given`, the caller chose the spans: they may exceed `widest`. -> [N, d]"""
    first, last = spans[:, 1], spans[:, 2] - 1
    if given and torch.compiler.is_exporting():
        widest = MAX_EXPORT_LENGTH
    elif given and len(spans):
        widest = max(widest, int((last - first).max()) + 1)
    return span_max(words, spans[:, 0], first, last, widest)


def boundary_vectors(words: Tensor, spans: Tensor) -> Tensor:
    """First and last word of each span, concatenated. words [B, T, d] -> [N, 2d]"""
    row, first, last = spans[:, 0], spans[:, 1], spans[:, 2] - 1
    length, dim = words.shape[1:]
    flat = words.reshape(-1, dim)
    return torch.cat((flat.index_select(0, row * length + first), flat.index_select(0, row * length + last)), dim=-1)


class WidthEmbedding(nn.Module):
    """A learned vector per width; spans wider than `widest` share the last one."""

    def __init__(self, widest: int, dim: int) -> None:
        super().__init__()
        self.widest = widest
        self.table = nn.Embedding(widest, dim)

    def forward(self, spans: Tensor) -> Tensor:
        """spans [N, 3] -> [N, dim]"""
        found: Tensor = self.table(self.rows(spans))
        return found

    def rows(self, spans: Tensor) -> Tensor:
        """The row of the table for each span. [N, 3] -> [N]"""
        return (spans[:, 2] - spans[:, 1] - 1).clamp(max=self.widest - 1)


class BoundaryScores(nn.Module):
    """A linear layer over [first word; last word; width] of spans, which projects each word once, not once per span."""

    def __init__(self, dim: int, widths: WidthEmbedding, outer: int) -> None:
        super().__init__()
        self.widths = widths
        self.first = nn.Linear(dim, outer)
        self.last = nn.Linear(dim, outer, bias=False)
        self.width = nn.Linear(widths.table.embedding_dim, outer, bias=False)

    def forward(self, words: Tensor, spans: Tensor) -> Tensor:
        """words [B, T, d]; spans [N, 3] -> [N, outer]"""
        row, first, last = spans[:, 0] * words.shape[1], spans[:, 1], spans[:, 2] - 1
        begins = self.first(words).flatten(0, 1).index_select(0, row + first)
        ends = self.last(words).flatten(0, 1).index_select(0, row + last)
        scores: Tensor = begins + ends + self.width(self.widths(spans))
        return scores


class SpanRepresentation(nn.Module):
    """BL-NER eqs. 13 to 15: the parts of a span's vector that `how` selects, concatenated.

    boundary: first and last word; pooling: maximum over the span's words, and the sentence vector; hybrid: all four.
    Each ends with a learned embedding of the span's width.
    """

    def __init__(self, how: Representation, dim: int, max_width: int, width_dim: int) -> None:
        super().__init__()
        self.how = how
        self.max_width = max_width
        self.widths = WidthEmbedding(max_width, width_dim)
        self.dim = {"boundary": 2, "pooling": 2, "hybrid": 4}[how] * dim + width_dim

    def forward(self, encoded: Encoded, spans: Tensor) -> Tensor:
        """spans [N, 3]: example, start, end -> [N, dim]"""
        parts = []
        if self.how != "pooling":
            parts.append(boundary_vectors(encoded.words, spans))
        if self.how != "boundary":
            parts += [
                max_pool_spans(encoded.words, spans, self.max_width),
                encoded.sentence.index_select(0, spans[:, 0]),
            ]
        return torch.cat([*parts, self.widths(spans)], dim=-1)

    def projected(self, encoded: Encoded, spans: Tensor, layer: nn.Linear) -> Tensor:
        """`layer` of the span vectors without building them: W·[a; b] = W₁·a + W₂·b, and words are projected once.

        spans [N, 3] -> [N, out]
        """
        row, first, last = spans[:, 0], spans[:, 1], spans[:, 2] - 1
        length, dim = encoded.words.shape[1:]
        *blocks, of_width = layer.weight.split([dim] * (self.dim // dim) + [self.widths.table.embedding_dim], dim=1)
        scores: Tensor = F.linear(self.widths.table.weight, of_width, layer.bias)[self.widths.rows(spans)]
        if self.how != "pooling":
            begins, ends = (F.linear(encoded.words, block).flatten(0, 1) for block in blocks[:2])
            scores = scores + begins[row * length + first] + ends[row * length + last]
        if self.how != "boundary":
            of_maximum, of_sentence = blocks[-2:]
            pooled = max_pool_spans(encoded.words, spans, self.max_width)
            scores = scores + F.linear(pooled, of_maximum) + F.linear(encoded.sentence, of_sentence)[row]
        return scores


class SpanLSTM(nn.Module):
    """A BiLSTM over the spans of each size, in the order of the text (DSpERT, appendix C)."""

    def __init__(self, given: int, units: int, dropout: float) -> None:
        super().__init__()
        self.dim = 2 * units
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(given, units, batch_first=True, bidirectional=True)

    def forward(self, vectors: Tensor, spans: Tensor) -> Tensor:
        """vectors [N, given]; spans [N, 3], in any order, duplicates allowed -> [N, dim]"""
        if not len(spans):
            return vectors.new_zeros(0, self.dim)
        row, start, end = spans.unbind(-1)
        ordered, place = torch.stack((row, end - start, start), dim=1).unique(dim=0, return_inverse=True)
        sizes = ordered[:, :2].unique_consecutive(dim=0, return_counts=True)[1].cpu()
        own = vectors.new_zeros(len(ordered), vectors.shape[1]).index_put((place,), vectors)
        lines = nn.utils.rnn.pack_sequence(own.split(sizes.tolist()), enforce_sorted=False)
        padded, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(lines)[0], batch_first=True)
        inside = (torch.arange(padded.shape[1]) < sizes.unsqueeze(1)).to(padded.device)
        found: Tensor = self.dropout(padded[inside][place])
        return found
