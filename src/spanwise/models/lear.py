"""LEAR (Yang et al. 2021, Enhanced Language Representation with Label Knowledge for Span Extraction), sections 3.1 to
3.4, with the variants of section 5.1.

Descriptions of the labels go through the text's own encoder. Every word attends over the tokens of every description
and is fused with what it finds; from the fused vectors the label's starts and ends are read.

V·(h'ₓ + Σ a·h'ᵧ) = V·h'ₓ + Σ a·(V·h'ᵧ): the words' and the tokens' shares are projected once, so that no product of
d × d is left for a pair of a word and a label; and the fused vectors of few labels at a time are ever there.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from spanwise.models.base import Abilities
from spanwise.models.pointing import Matcher, PointerConfig, PointerModel, PointerScores, pointer
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import Encoded, WordEncoder
from spanwise.nn.labels import LabelReader, LabelTokens, PiecesOf, state_of
from spanwise.schema import Schema

AT_ONCE = 2**21  # numbers of fused vectors in one block of labels
KEPT = 2**26  # numbers of fused vectors that training keeps for its backward pass; beyond, they are computed again


class LEARConfig(PointerConfig):
    """What is known of a label, and how words take it in: the variants of Table 5."""

    knowledge: Literal["descriptions", "names", "embeddings"] = "descriptions"  # Table 5: LNE is names, LEL embeddings
    fusion: Literal["attention", "average", "sentence"] = "attention"  # Table 5: AP & Add is average, SF & Sim sentence
    shared: bool = False  # one vector for the starts (ends) of all labels, so that new labels can be asked for

    def reads_descriptions(self) -> bool:
        return self.knowledge == "descriptions"

    def takes_new_labels(self) -> bool:
        return self.shared and self.knowledge != "embeddings"


class Projected(NamedTuple):
    """The labels' share of the fusion."""

    tokens: Tensor  # [C, m, d]   h'ᵧ
    moved: Tensor  # [C, m, d]   V·h'ᵧ
    content: Tensor  # [C, m]


class LEAR(PointerModel):
    """Words that know the labels."""

    Config = LEARConfig
    can = Abilities(nested=True, needs_descriptions=True)
    summary = "starts and ends of spans from words fused with label descriptions (Yang et al. 2021); flat or nested"
    config: LEARConfig

    def __init__(self, encoder: WordEncoder, config: LEARConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        dim, labels = encoder.dim, len(schema.entities)
        rows = 1 if config.shared else labels
        self.dropout = nn.Dropout(config.dropout)
        self.of_words, self.of_labels = (nn.Linear(dim, dim, bias=False) for _ in range(2))  # U₁, U₂
        self.fuse = nn.Linear(dim, dim)  # V, b
        for layer in (self.of_words, self.of_labels, self.fuse):
            nn.init.xavier_normal_(layer.weight)  # torch's own draw would shrink what passes two of them to a third
        self.start, self.end = (pointer(dim, rows) for _ in range(2))  # M_s, b_s and M_e, b_e, one row per label
        match_rows = 1 if config.matcher == "linear" else rows  # eq. 9 has one vector, the public code one per label
        self.matcher = Matcher(config.matcher, dim, match_rows) if config.nested else None
        self.embedding = nn.Embedding(labels, dim) if config.knowledge == "embeddings" else None
        self.labels: LabelReader | None = None
        self._known: tuple[object, Projected] | None = None

    def train(self, mode: bool = True) -> Self:
        self._known = None if mode else self._known
        return super().train(mode)

    def read_labels(self, pieces_of: PiecesOf) -> None:
        if self.embedding is None:
            self.labels = LabelReader(pieces_of(self._texts()), self.encoder.dim)
            return
        pieces, _, content = pieces_of(self.schema.entity_names)
        table: Tensor = self.encoder.transformer.get_input_embeddings().weight
        with torch.no_grad():
            self.embedding.weight.copy_(_mean(table[pieces], content))

    def _texts(self) -> tuple[str, ...]:
        if self.config.knowledge == "names":
            return self.schema.entity_names
        return tuple(entity.description for entity in self.schema.entities)

    def settle(self) -> None:
        modes = [(module, module.training) for module in self.modules()]
        self.eval()  # a description is read without dropout
        if self.labels is not None:
            self.labels.renew(self.encoder)
        for module, training in modes:
            module.training = training

    def tokens(self) -> LabelTokens:
        """h_Y, of one token per label where that is all there is: [C, m, d] and which tokens count [C, m]"""
        if self.embedding is not None:
            return LabelTokens.single(self.embedding.weight)
        if self.labels is None:
            raise ValueError("the labels were never read: call read_labels before the model is used")
        read: LabelTokens = self.labels(self.encoder)  # eq. 2
        if self.config.fusion == "average":
            return LabelTokens.single(_mean(read.vectors, read.content))
        if self.config.fusion == "sentence":
            return LabelTokens.single(read.vectors[:, 0])
        return read

    def score(self, encoded: Encoded, batch: Batch) -> PointerScores:
        words = self.of_words(self.dropout(encoded.words[batch.word_mask]))  # eq. 3   [n, d]
        labels = self._projected()
        weight, bias = self._readout()
        order = labels.content.sum(-1).argsort()  # of like length together, each block as wide as its longest
        parts = (part[order] for part in (*labels, weight.expand(len(order), -1, -1)))
        again = self.training and len(order) * words.numel() > KEPT
        base, found = self.fuse(words), []
        at_once = max(1, AT_ONCE // max(words.numel(), 1))
        for part in zip(*(part.split(at_once) for part in parts), strict=True):
            block = (words, base, *part)
            found.append(checkpoint(self._read, *block, use_reentrant=False) if again else self._read(*block))
        scores = torch.cat(found)[order.argsort()].transpose(0, 1) + bias  # [n, C, K]
        padded = scores.new_zeros(*batch.word_mask.shape, *scores.shape[1:])
        padded[batch.word_mask] = scores
        return PointerScores.of(padded)

    def _projected(self) -> Projected:
        """Training computes it at every step; at inference it holds until what it is made of changes."""
        tokens, content = self.tokens()
        if self.training or torch.is_grad_enabled():
            return self._project(self.dropout(tokens), content)
        source = self.labels.read if self.labels is not None else self.embedding.weight  # type: ignore[union-attr]
        sources = (source, self.of_labels.weight, self.fuse.weight)
        state = state_of(sources), torch.is_autocast_enabled(source.device.type)
        if self._known is None or self._known[0] != state:
            with torch.inference_mode(False), torch.no_grad():  # what is kept may be used outside of inference mode
                self._known = state, self._project(tokens.clone(), content)
        return self._known[1]

    def _project(self, tokens: Tensor, content: Tensor) -> Projected:
        tokens = self.of_labels(tokens)  # eq. 4
        return Projected(tokens, tokens @ self.fuse.weight.T, content)

    def _read(
        self, words: Tensor, base: Tensor, tokens: Tensor, moved: Tensor, content: Tensor, weight: Tensor
    ) -> Tensor:
        """Equations 5 to 9 for c labels.

        words, base [n, d]; tokens, moved [c, m, d]; content [c, m]; weight [c, d, K] -> [c, n, K]
        """
        used = content.any(0)
        tokens, moved, content = tokens[:, used], moved[:, used], content[:, used]
        likeness = (tokens.flatten(0, 1) @ words.T).view(*content.shape, -1)  # h'ₓ·h'ᵧ   [c, m, n]
        if self.config.fusion == "sentence":
            weights = likeness.sigmoid()
        else:
            weights = likeness.masked_fill(~content.unsqueeze(-1), -torch.inf).softmax(1)  # eq. 5
        fused = torch.baddbmm(base, weights.transpose(1, 2), moved).tanh_()  # eqs. 6, 7   [c, n, d]
        return torch.bmm(fused, weight)  # eq. 8, and the two halves of eq. 9

    def _readout(self) -> tuple[Tensor, Tensor]:
        """What fused words are read with, in columns: starts, ends, heads, tails. -> [C, d, K], [C, K]"""
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


def _mean(vectors: Tensor, content: Tensor) -> Tensor:
    """Over the tokens that count. [C, m, d], [C, m] -> [C, d]"""
    share = content.unsqueeze(-1).to(vectors.dtype)
    return (vectors * share).sum(1) / share.sum(1)
