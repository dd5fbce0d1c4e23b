"""DSpERT (Zhu, Liu and Li 2023, Deep Span Representations for Named Entity Recognition), section 3.

Beside the encoder's words, spans climb through a copy of its top blocks: from a shallow aggregate of their words
(eq. 2), each block lets a span look at its words on the layer below (eq. 3). With no blocks at all (`depth: 0`) it is
the shallow model that the paper compares with, under the same classifier and the same recipe.

Beyond the paper: training may sample negatives, each of which then speaks for those that were not drawn, and a cheap
score, trained along, may pick the spans that are worth the climb when text is read, and the negatives that are worth
it in training.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Literal, NamedTuple, Self

import torch
import torch.nn.functional as F
from pydantic import Field, NonNegativeInt, PositiveInt, model_validator
from torch import Tensor, nn

from spanwise.errors import RecipeError
from spanwise.models.base import (
    Abilities,
    Candidates,
    Least,
    Loss,
    Negatives,
    Prediction,
    SpanConfig,
    SpanModel,
)
from spanwise.models.decoding import entities_of, gathered
from spanwise.nn.aggregation import Aggregating, Aggregation
from spanwise.nn.batch import Batch
from spanwise.nn.deep import blocks_of, climb, turns_of
from spanwise.nn.encoder import Encoded, WordEncoder
from spanwise.nn.sampling import Drawn, draw_promising, stands_for
from spanwise.nn.smoothing import Smoothing, smoothed_loss, smoothed_targets
from spanwise.nn.spans import BoundaryScores, SpanLSTM, WidthEmbedding
from spanwise.schema import Schema

EVERY = 2**31  # more negatives than any sentence has


class DeepSpanConfig(SpanConfig):
    """Options of DSpERT and of the models that share its classifier and its loss."""

    hidden: PositiveInt
    dropout: float = Field(0.4, ge=0, lt=1)
    negatives: PositiveInt | Literal["all"] = "all"  # spans of a training sentence that are not gold
    smoothing: float = Field(0.1, ge=0, lt=1)  # ε of boundary smoothing; 0: none
    smoothing_distance: PositiveInt = 1  # D

    def boundary_smoothing(self) -> Smoothing:
        return Smoothing(self.smoothing, self.smoothing_distance)

    def candidates(self) -> Candidates:
        return Candidates(self.settled_width(), Negatives(EVERY if self.negatives == "all" else self.negatives))


class DSpERTConfig(DeepSpanConfig):
    hidden: PositiveInt = 300  # d_z, the units of eq. 5
    width_dim: PositiveInt = 25
    depth: NonNegativeInt | Literal["all"] = "all"  # L̃, the blocks that spans pass; 0: the shallow model
    shared: bool = False  # true: they are the encoder's own blocks, not copies
    aggregation: Aggregating = "max"  # of words to a span, before the first block
    pool_dropout: float = Field(0.2, ge=0, lt=1)  # before that aggregation
    lstm: NonNegativeInt = 0  # units of a BiLSTM over the spans of each size; 0: none
    keep: float | None = Field(None, gt=0, lt=1)  # the least shallow probability of a span that is read deeply

    @model_validator(mode="after")
    def _lstm_needs_all(self) -> Self:
        if self.lstm and (self.negatives != "all" or self.keep is not None):
            raise ValueError("lstm runs over all spans of a size: set negatives to all and keep to null")
        return self

    def candidates(self) -> Candidates:
        """All spans where the model draws its negatives itself, by the score that `keep` has it learn."""
        return super().candidates() if self.keep is None else Candidates(self.settled_width(), Negatives(EVERY))


class DeepScores(NamedTuple):
    """Of the spans that were read deeply: logits (eq. 6) and what they are computed from, z (eq. 5)."""

    spans: Tensor  # [M, 3]
    logits: Tensor  # [M, 1 + E]   None first
    z: Tensor  # [M, d_z]
    drawn: Drawn  # which of the N candidates they are
    promise: Tensor  # [N]   of all candidates, the score that picks the M, before the sigmoid; empty without `keep`


class DSpERT(SpanModel):
    """Spans that climb beside the words."""

    Config = DSpERTConfig
    can = Abilities(nested=True)
    summary = "classifies spans that pass the encoder's blocks beside its words (Zhu et al. 2023); flat or nested"
    config: DSpERTConfig

    def __init__(self, encoder: WordEncoder, config: DSpERTConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        width = config.settled_width()
        self.depth = _depth(encoder, config)
        self.own = None if config.shared else nn.ModuleList(deepcopy(block) for block in self._encoder_blocks())
        self.pool_dropout = nn.Dropout(config.pool_dropout)
        self.aggregate = Aggregation(config.aggregation, encoder.dim, width)
        self.lstm = SpanLSTM(encoder.dim, config.lstm, config.dropout) if config.lstm else None
        self.classifier = SpanClassifier(self.lstm.dim if self.lstm else encoder.dim, config, schema)
        self.promise = Promise(encoder.dim, config) if config.keep is not None else None

    @property
    def candidates(self) -> Candidates:
        return self.config.candidates()

    @property
    def levels(self) -> int:
        return self.depth

    @property
    def pretrained(self) -> Iterable[nn.Parameter]:
        return chain(super().pretrained, self.own.parameters() if self.own is not None else ())

    def score(self, encoded: Encoded, batch: Batch) -> DeepScores:
        promise = self.promise(encoded.words.detach(), batch.spans) if self.promise else encoded.words.new_zeros(0)
        drawn = self._worth_the_climb(promise.detach(), batch)
        spans = batch.spans[drawn.rows]
        logits, z = self.classifier(self.represent(encoded, spans, batch), spans)
        return DeepScores(spans, logits, z, drawn, promise)

    def represent(self, encoded: Encoded, spans: Tensor, batch: Batch) -> Tensor:
        """s^L of every span (eqs. 2 to 4). spans [N, 3] -> [N, d]"""
        below = encoded.levels[-self.depth :] if self.depth else (encoded.words,)
        words = self.pool_dropout(below[0])
        vectors: Tensor
        if not self.depth:
            vectors = self.aggregate(words, spans)
        else:
            wide = spans[:, 2] - spans[:, 1] > 1
            turns = turns_of(self.encoder.transformer, batch.first_piece)
            deep = climb(self._blocks(), spans[wide], self.aggregate(words, spans[wide]), below, turns)  # eqs. 2, 3
            vectors = encoded.words[spans[:, 0], spans[:, 1]].to(deep.dtype)  # eq. 4
            vectors = vectors.index_put((wide.nonzero().squeeze(1),), deep)
        if self.lstm is not None:
            vectors = self.lstm(vectors, spans)
        return vectors

    def loss(self, scores: DeepScores, batch: Batch) -> Loss:
        labels, widest = len(self.schema.entities), self.classifier.widest
        weight = stands_for(batch, widest)
        targets = smoothed_targets(batch, labels, widest, self.config.boundary_smoothing())
        rows, speaks_for = scores.drawn
        spans = smoothed_loss(scores.logits, targets[rows], weight[rows] * speaks_for) / batch.size
        if self.promise is None:
            return Loss(spans, {"spans": spans})
        gold = (batch.span_labels > 0).float()
        promise = F.binary_cross_entropy_with_logits(scores.promise, gold, weight, reduction="sum") / batch.size
        return Loss(spans + promise, {"spans": spans, "promise": promise})

    def decode(self, scores: DeepScores, batch: Batch, least: Least) -> list[Prediction]:
        found = entities_of(scores.logits, scores.spans, least.entities, nested=self.config.nested)
        return gathered(found, batch.size)

    def _worth_the_climb(self, promise: Tensor, batch: Batch) -> Drawn:
        """To be read: the candidates that promise enough; to be learnt from: all, or gold and so many negatives."""
        if self.training and self.promise is not None and self.config.negatives != "all":
            return draw_promising(batch, promise, self.config.negatives)
        rows = torch.arange(len(batch.spans), device=batch.spans.device)
        if self.config.keep is not None and not self.training:
            rows = rows[promise.sigmoid() >= self.config.keep]
        return Drawn(rows, torch.ones(len(rows), device=rows.device))

    def _blocks(self) -> Sequence[nn.Module]:
        return list(self.own) if self.own is not None else self._encoder_blocks()

    def _encoder_blocks(self) -> Sequence[nn.Module]:
        """The top L̃ of the encoder's."""
        return list(blocks_of(self.encoder.transformer))[-self.depth :] if self.depth else []


class SpanClassifier(nn.Module):
    """The entity classifier (eqs. 5, 6)."""

    def __init__(self, dim: int, config: DSpERTConfig, schema: Schema) -> None:
        super().__init__()
        self.widest = config.settled_width()
        self.widths = WidthEmbedding(self.widest, config.width_dim)
        self.reduce = nn.Linear(dim + config.width_dim, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(config.hidden, 1 + len(schema.entities))

    def forward(self, vectors: Tensor, spans: Tensor) -> tuple[Tensor, Tensor]:
        """vectors [N, d]; spans [N, 3] -> logits [N, 1 + E] and z [N, d_z]"""
        z = F.relu(self.reduce(torch.cat((vectors, self.widths(spans)), dim=-1)))  # eq. 5
        return self.classify(self.dropout(z)), z  # eq. 6


class Promise(nn.Module):
    """How likely a span is an entity, from its first and its last word: cheap, to be asked before the climb.

    It learns to read the words as they are, and teaches them nothing.
    """

    def __init__(self, dim: int, config: DSpERTConfig) -> None:
        super().__init__()
        self.ends = BoundaryScores(dim, WidthEmbedding(config.settled_width(), config.width_dim), config.hidden)
        self.weigh = nn.Linear(config.hidden, 1)

    def forward(self, words: Tensor, spans: Tensor) -> Tensor:
        """words [B, T, d]; spans [N, 3] -> [N]"""
        scores: Tensor = self.weigh(F.relu(self.ends(words, spans))).squeeze(-1)
        return scores


def _depth(encoder: WordEncoder, config: DSpERTConfig) -> int:
    if config.depth == 0:
        return 0
    layers = len(blocks_of(encoder.transformer))
    if config.depth != "all" and config.depth > layers:
        raise RecipeError(f"model.depth is {config.depth}, but the encoder has {layers} blocks; set it to {layers}.")
    return layers if config.depth == "all" else config.depth
