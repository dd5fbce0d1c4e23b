"""LEAR (Yang et al. 2021, Enhanced Language Representation with Label Knowledge for Span Extraction), sections 3.1 to
3.4, with the variants of section 5.1.

The encoder of the text also encodes the label descriptions. Every word attends to the tokens of every description and
is fused with the result. The fused vectors give the starts and ends of the label.

V·(h'ₓ + Σ a·h'ᵧ) = V·h'ₓ + Σ a·(V·h'ᵧ): words and description tokens are each projected once, so that no d × d product
is needed per pair of a word and a label.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from spanwise.decoding.pointers import PointerScores
from spanwise.models.pointers import PointerConfig, PointerModel
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.label_blocks import blockwise_over_labels
from spanwise.nn.labels import LabelTokens, encode_texts, masked_mean
from spanwise.nn.pointers import Matcher, MatchFeatures, pointer_layer
from spanwise.schema import Schema
from spanwise.seam.batch import Batch, LabelTexts
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Output, Tensors
from spanwise.seam.traits import Traits


class LEARConfig(PointerConfig):
    """The source of label knowledge and its fusion with words: the variants of Table 5."""

    knowledge: Literal["descriptions", "names", "embeddings"] = Field(
        "descriptions", description="label knowledge (Table 5): `descriptions`, `names` (LNE) or `embeddings` (LEL)"
    )
    fusion: Literal["attention", "average", "sentence"] = Field(
        "attention",
        description="fusion with words (Table 5): `attention`, `average` (AP & Add) or `sentence` (SF & Sim)",
    )
    shared: bool = Field(
        False, description="one start and one end vector for all labels, so that new labels can be given at inference"
    )

    def traits(self) -> Traits:
        texts: Literal["names", "descriptions"] = "descriptions" if self.knowledge == "descriptions" else "names"
        open_labels = self.shared and self.knowledge != "embeddings"
        attention = self.fusion == "attention" and self.knowledge != "embeddings"
        return replace(super().traits(), label_texts=texts, open_labels=open_labels, label_attention=attention)


class LabelKnowledge(NamedTuple):
    """Label inputs to the fusion."""

    tokens: Tensor  # [C, m, d]   h'ᵧ
    projected: Tensor  # [C, m, d]   V·h'ᵧ
    content: Tensor  # [C, m]


class LEAR(PointerModel):
    """Pointer model over words fused with label knowledge."""

    Config = LEARConfig
    summary = "starts and ends of spans from words fused with label descriptions (Yang et al. 2021); flat or nested"
    config: LEARConfig

    def __init__(self, encoder: WordEncoder, config: LEARConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        dim, labels = encoder.dim, len(schema.entities)
        rows = 1 if config.shared else labels
        self.dropout = nn.Dropout(config.dropout)
        self.project_words, self.project_labels = (nn.Linear(dim, dim, bias=False) for _ in range(2))  # U₁, U₂
        self.fuse = nn.Linear(dim, dim)  # V, b
        for layer in (self.project_words, self.project_labels, self.fuse):
            nn.init.xavier_normal_(layer.weight)  # PyTorch's default shrinks vectors to a third over two layers
        self.start, self.end = (pointer_layer(dim, rows) for _ in range(2))  # M_s, b_s and M_e, b_e, one row per label
        match_rows = 1 if config.matcher == "linear" else rows  # eq. 9 has one vector, the public code one per label
        self.matcher = Matcher(config.matcher, dim, match_rows) if config.nested else None
        self.embedding = nn.Embedding(labels, dim) if config.knowledge == "embeddings" else None

    def initialize(self, labels: LabelTexts[Tensor]) -> None:
        """Initialize label embeddings (LEL) with the mean of the input embeddings of their names."""
        if self.embedding is not None:
            table: Tensor = self.encoder.transformer.get_input_embeddings().weight
            with torch.no_grad():
                self.embedding.weight.copy_(masked_mean(table[labels.pieces], labels.content))

    def encode_labels(self, texts: LabelTexts[Tensor]) -> LabelKnowledge:
        read = self._label_tokens(texts)
        tokens = self.project_labels(self.dropout(read.vectors))  # eq. 4
        return LabelKnowledge(tokens, tokens @ self.fuse.weight.T, read.content)

    def _label_tokens(self, texts: LabelTexts[Tensor]) -> LabelTokens:
        """h_Y [C, m, d] and the content mask [C, m]; m is 1 for label embeddings and for pooled texts."""
        if self.embedding is not None:
            return LabelTokens.single(self.embedding.weight)
        read = encode_texts(self.encoder, texts)  # eq. 2
        if self.config.fusion == "average":
            return LabelTokens.single(read.mean())
        if self.config.fusion == "sentence":
            return LabelTokens.single(read.vectors[:, 0])
        return read

    def score(
        self, encoded: Encoded, batch: Batch[Tensor], labels: Tensors | None = None
    ) -> Output[PointerScores[Tensor], MatchFeatures]:
        scored = batch.words.scored
        exporting = torch.compiler.is_exporting()  # a graph does not select words
        chosen = encoded.words.flatten(0, 1) if exporting else encoded.words[scored]
        words = self.project_words(self.dropout(chosen))  # eq. 3   [n, d]
        known = LabelKnowledge(*(self.encode_labels(batch.require_label_texts()) if labels is None else labels))
        weight, bias = self._readout()
        parts = (*known, weight.expand(known.tokens.shape[0], -1, -1))
        read = partial(self._read, words, self.fuse(words))
        lengths = known.content.sum(-1)
        by_label = blockwise_over_labels(read, parts, lengths, words.numel(), training=self.training)
        scores = by_label.transpose(0, 1) + bias  # [n, C, K]
        if exporting:
            padded = scores.unflatten(0, scored.shape)
        else:
            padded = scores.new_zeros(*scored.shape, *scores.shape[1:])
            padded[scored] = scores
        start, end, ends = padded[..., 0], padded[..., 1], padded[..., 2:]  # [B, T, C], [B, T, C], [B, T, C, 2k]
        heads, tails = ends.chunk(2, dim=-1) if ends.shape[-1] else (ends, ends)
        return Output(PointerScores(start, end), MatchFeatures(heads, tails))

    def _read(
        self, words: Tensor, base: Tensor, tokens: Tensor, projected: Tensor, content: Tensor, weight: Tensor
    ) -> Tensor:
        """Equations 5 to 9 for c labels.

        words, base [n, d]; tokens, projected [c, m, d]; content [c, m]; weight [c, d, K] -> [c, n, K]
        """
        if not torch.compiler.is_exporting():
            used = content.any(0)
            tokens, projected, content = tokens[:, used], projected[:, used], content[:, used]
        weights = self._attention(words, tokens, content)
        fused = torch.baddbmm(base, weights.transpose(1, 2), projected).tanh_()  # eqs. 6, 7   [c, n, d]
        return torch.bmm(fused, weight)  # eq. 8, and the two halves of eq. 9

    def _attention(self, words: Tensor, tokens: Tensor, content: Tensor) -> Tensor:
        """Weight of each token for each word (eq. 5). words [n, d]; tokens [c, m, d]; content [c, m] -> [c, m, n]"""
        likeness = (tokens.flatten(0, 1) @ words.T).view(*content.shape, -1)  # h'ₓ·h'ᵧ
        if self.config.fusion == "sentence":
            return likeness.sigmoid()
        return likeness.masked_fill(~content.unsqueeze(-1), -torch.inf).softmax(1)

    def label_attention(self, encoded: Encoded, texts: LabelTexts[Tensor]) -> Tensor:
        words: Tensor = self.project_words(encoded.words)
        known = self.encode_labels(texts)
        weights = self._attention(words.flatten(0, 1), known.tokens, known.content)  # [C, m, B·T]
        return weights.permute(2, 0, 1).reshape(*words.shape[:2], *known.content.shape)

    def _readout(self) -> tuple[Tensor, Tensor]:
        """Output weights and biases of fused words; columns: starts, ends, heads, tails. -> [C, d, K], [C, K]"""
        weight = torch.stack((self.start.weight, self.end.weight), dim=-1)
        bias = torch.stack((self.start.bias, self.end.bias), dim=-1)
        if self.matcher is None:
            return weight, bias
        ends = torch.cat((self.matcher.head.weight, self.matcher.tail.weight))  # [2k, d]
        none = ends.new_zeros(len(ends) // 2)
        offset = torch.cat((none if self.matcher.head.bias is None else self.matcher.head.bias, none))
        rows = len(weight)
        weight = torch.cat((weight, ends.T.expand(rows, -1, -1)), dim=-1)
        return weight, torch.cat((bias, offset.expand(rows, -1)), dim=-1)
