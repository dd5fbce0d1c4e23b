"""DSpERT (Zhu, Liu and Li 2023, Deep Span Representations for Named Entity Recognition), section 3.

Spans pass through a copy of the encoder's top blocks. A span starts as a shallow aggregate of its words (eq. 2); in
each block it attends to its words in the layer below (eq. 3). Without blocks (`depth: 0`) this is the shallow baseline
of the paper, with the same classifier and recipe.

Beyond the paper, training can sample negatives, each weighted by the inverse of its sampling rate, and a cheap score
(`screening_threshold`, see nn.screening) can select the spans that get a deep vector. Spans can be scored against label
texts (nn.label_scorer).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import chain
from typing import Annotated, Literal, NamedTuple, Self

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from spanwise.decoding.spans import ScreeningScores, SpanRows, SpanScores, TwoStageSpanDecoder
from spanwise.errors import RecipeError
from spanwise.models.smoothed import SmoothedSpanConfig, candidate_weights, smoothed_span_loss
from spanwise.nn.aggregation import Aggregation, AggregationKind
from spanwise.nn.classification import class_count
from spanwise.nn.deep import blocks_of, rotary_table, span_transformer
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.label_scorer import LabelScorer, LabelVectors
from spanwise.nn.sampling import SampledSpans, all_candidates, sample_by_score
from spanwise.nn.screening import ScreeningScorer, screening_loss
from spanwise.nn.spans import SpanLSTM, WidthEmbedding
from spanwise.schema import Schema
from spanwise.seam.batch import Batch, LabelTexts
from spanwise.seam.config import Dimension
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Loss, Output, Rescored, SpanModel, Templates, Tensors
from spanwise.seam.proposals import ALL_NEGATIVES, Negatives
from spanwise.seam.traits import Traits


class DSpERTConfig(SmoothedSpanConfig):
    """Options of DSpERT and of its shallow counterparts."""

    hidden: Dimension = Field(300, description="d_z, units of the layer before the classifier (eq. 5)")
    width_dim: Dimension = Field(25, description="size of the width embedding (eq. 5)")
    depth: Annotated[int, Field(ge=0, le=64)] | Literal["all"] = Field(
        "all", description="L̃, number of top encoder blocks in the span Transformer; 0 is the shallow model"
    )
    shared: bool = Field(False, description="use the encoder's own blocks for spans instead of copies of them")
    aggregation: AggregationKind = Field(
        "max",
        description="first span vector from its words: `max`, `mean`, `multiplicative` or `additive` (appendix A)",
    )
    pool_dropout: float = Field(0.2, ge=0, lt=1, description="dropout before the aggregation")
    lstm: int = Field(
        0,
        ge=0,
        le=4_096,
        description="units per direction of a BiLSTM over the spans of each size (the paper: 200); 0 turns it off",
    )
    screening_threshold: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="lowest screening score of a span that gets a deep vector, such as 1e-4; null: none",
    )

    @model_validator(mode="after")
    def _lstm_needs_all(self) -> Self:
        if self.lstm and (self.negatives != "all" or self.screening_threshold is not None):
            raise ValueError("lstm runs over all spans of a size: set negatives to all and screening_threshold to null")
        return self

    def traits(self) -> Traits:
        return replace(super().traits(), hidden_states=self.depth, span_vectors=not self.reads_labels)

    def negatives_per_example(self) -> Negatives:
        """With screening, all negatives: the model samples from them by screening score."""
        return super().negatives_per_example() if self.screening_threshold is None else Negatives(ALL_NEGATIVES)

    def decoder(self, schema: Schema) -> TwoStageSpanDecoder:
        return TwoStageSpanDecoder(self.nested, self.multi_label, self.screening_threshold, self.independent)


class DeepFeatures(NamedTuple):
    """The word vectors from which span vectors are computed."""

    words: Tensor  # [B, T, d]   after the last block
    below: Tensor  # [L̃, B, T, d]   before each of the top L̃ blocks; with no blocks, the words themselves
    places: Tensor  # [B, T]   positions of the words' first pieces, for rotary positions


class LabeledFeatures(NamedTuple):
    """The same with the vectors of the labels that spans are scored against."""

    words: Tensor  # [B, T, d]
    below: Tensor  # [L̃, B, T, d]
    places: Tensor  # [B, T]
    labels: Tensor  # [C, d]


Features = DeepFeatures | LabeledFeatures


class DSpERT(SpanModel[ScreeningScores[Tensor], Features, SpanRows[Tensor] | SampledSpans, SpanScores[Tensor]]):
    """Classifier of span vectors from a span Transformer."""

    Config = DSpERTConfig
    summary = "classifies deep span vectors from a span Transformer (Zhu et al. 2023); flat or nested"
    config: DSpERTConfig

    def __init__(self, encoder: WordEncoder, config: DSpERTConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        width = config.resolved_max_width()
        self.depth = _depth(encoder, config)
        self.span_blocks = None if config.shared else nn.ModuleList(deepcopy(block) for block in self._encoder_blocks())
        self.pool_dropout = nn.Dropout(config.pool_dropout)
        self.aggregate = Aggregation(config.aggregation, encoder.dim, width)
        self.lstm = SpanLSTM(encoder.dim, config.lstm, config.dropout) if config.lstm else None
        self.classifier = SpanClassifier(self.lstm.dim if self.lstm else encoder.dim, encoder.dim, config, schema)
        screens = config.screening_threshold is not None
        self.screening = ScreeningScorer(encoder.dim, width, config.width_dim, config.hidden) if screens else None

    @property
    def pretrained(self) -> Iterable[nn.Parameter]:
        return chain(super().pretrained, self.span_blocks.parameters() if self.span_blocks is not None else ())

    def encode_labels(self, texts: LabelTexts[Tensor]) -> Tensors:
        scorer = self.classifier.label_scorer
        return () if scorer is None else scorer.encode(self.encoder, texts)

    def score(
        self, encoded: Encoded, batch: Batch[Tensor], labels: Tensors | None = None
    ) -> Output[ScreeningScores[Tensor], Features]:
        none = encoded.words.new_zeros(0)
        screening = none if self.screening is None else self.screening(encoded.words, batch.proposals.spans)
        features: Features = self._features(encoded, batch)
        if self.config.reads_labels:
            known = self.encode_labels(batch.require_label_texts()) if labels is None else labels
            features = LabeledFeatures(*features, *known)
        return Output(ScreeningScores(screening), features)

    def _features(self, encoded: Encoded, batch: Batch[Tensor]) -> DeepFeatures:
        below = torch.stack(encoded.hidden_states[-self.depth :]) if self.depth else encoded.words.unsqueeze(0)
        return DeepFeatures(encoded.words, below, batch.words.first_piece)

    def training_rows(self, output: Output[ScreeningScores[Tensor], Features], batch: Batch[Tensor]) -> SampledSpans:
        spans, negatives = batch.proposals.spans, self.config.negatives
        if self.screening is None or negatives == "all":
            return all_candidates(spans)
        scores = output.scores.screening.detach()
        limits = negatives * batch.require_gold().sentences
        return sample_by_score(spans, batch.proposals.labels, scores, limits)

    def rescore(self, features: Features, rows: SpanRows[Tensor] | SampledSpans) -> SpanScores[Tensor]:
        vectors = self.represent(features, rows.spans)
        if isinstance(features, LabeledFeatures):
            known = LabelVectors(features.labels)
            return SpanScores(self.classifier.label_scores(vectors, features.words, rows.spans, known))
        return SpanScores(self.classifier(vectors, rows.spans))

    def span_vectors(self, encoded: Encoded, batch: Batch[Tensor]) -> Tensor:
        spans = batch.proposals.spans
        return self.classifier.reduced(self.represent(self._features(encoded, batch), spans), spans)

    def templates(self) -> Templates[Tensor]:
        if self.classifier.classify is None:
            return super().templates()
        return Templates(self.classifier.classify.weight, self.classifier.classify.bias)

    def represent(self, features: Features, spans: Tensor) -> Tensor:
        """s^L of every span (eqs. 2 to 4). spans [N, 3] -> [N, d]"""
        words = self.pool_dropout(features.below[0])
        vectors: Tensor
        if not self.depth:
            vectors = self.aggregate(words, spans)
        else:
            wide = spans[:, 2] - spans[:, 1] > 1
            own = features.words[spans[:, 0], spans[:, 1]]  # eq. 4
            if torch.compiler.is_exporting():  # a graph does not select rows
                vectors = torch.where(wide.unsqueeze(1), self._deep_vectors(features, words, spans), own)
            else:
                deep = self._deep_vectors(features, words, spans[wide])
                vectors = own.to(deep.dtype).index_put((wide.nonzero().squeeze(1),), deep)
        if self.lstm is not None:
            vectors = self.lstm(vectors, spans)
        return vectors

    def _deep_vectors(self, features: Features, words: Tensor, spans: Tensor) -> Tensor:
        """spans [N, 3], of two or more words; words [B, T, d], before the first block -> [N, d]"""
        rotary = rotary_table(self.encoder.transformer, features.places)
        start = self.aggregate(words, spans)  # eq. 2
        return span_transformer(self._blocks(), spans, start, features.below.unbind(), rotary)  # eq. 3

    def loss(
        self,
        output: Output[ScreeningScores[Tensor], Features],
        second: Rescored[SpanRows[Tensor] | SampledSpans, SpanScores[Tensor]] | None,
        batch: Batch[Tensor],
    ) -> Loss:
        if second is None or not isinstance(second.rows, SampledSpans):
            raise TypeError("the loss is computed from training_rows")
        weights = candidate_weights(batch, self.config)
        spans = smoothed_span_loss(second.scores.logits, second.rows, weights, batch, self.config)  # eq. 7
        if self.screening is None:
            return Loss(spans, {"spans": spans})
        example, labels = batch.proposals.spans[:, 0], batch.proposals.labels
        # a span without labels in a partly annotated example may have an unknown label
        known = labels.any(-1) | batch.require_gold().annotated.all(-1)[example]
        screening = screening_loss(output.scores.screening, labels, weights * known) / batch.size
        return Loss(spans + screening, {"spans": spans, "screening": screening})

    def _blocks(self) -> Sequence[nn.Module]:
        return list(self.span_blocks) if self.span_blocks is not None else self._encoder_blocks()

    def _encoder_blocks(self) -> Sequence[nn.Module]:
        """The encoder's top L̃ blocks."""
        return list(blocks_of(self.encoder.transformer))[-self.depth :] if self.depth else []


class SpanClassifier(nn.Module):
    """The entity classifier (eqs. 5, 6), or a scorer against label texts in its place."""

    def __init__(self, dim: int, words_dim: int, config: DSpERTConfig, schema: Schema) -> None:
        super().__init__()
        self.widths = WidthEmbedding(config.resolved_max_width(), config.width_dim)
        self.reduce = nn.Linear(dim + config.width_dim, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        classes, labels = class_count(len(schema.entities), config.multi_label), config.reads_labels
        self.classify = None if labels else nn.Linear(config.hidden, classes)
        self.label_scorer = LabelScorer(config.hidden, words_dim, config.dropout) if labels else None

    def label_scores(self, vectors: Tensor, words: Tensor, spans: Tensor, labels: LabelVectors) -> Tensor:
        """vectors [N, d]; words [B, T, d]; spans [N, 3] -> logits [N, C]"""
        if self.label_scorer is None:
            raise TypeError("this classifier has one output per training label")
        reduced = self.label_scorer.reduce(self.dropout(self.reduced(vectors, spans)))
        scores: Tensor = self.label_scorer(reduced, words, spans, labels)
        return scores

    def forward(self, vectors: Tensor, spans: Tensor) -> Tensor:
        """vectors [N, d]; spans [N, 3] -> logits [N, 1 + E]"""
        if self.classify is None:
            raise TypeError("this classifier scores spans against label texts")
        logits: Tensor = self.classify(self.dropout(self.reduced(vectors, spans)))  # eq. 6
        return logits

    def reduced(self, vectors: Tensor, spans: Tensor) -> Tensor:
        """z of each span (eq. 5). -> [N, d_z]"""
        return F.relu(self.reduce(torch.cat((vectors, self.widths(spans)), dim=-1)))


def _depth(encoder: WordEncoder, config: DSpERTConfig) -> int:
    if config.depth == 0:
        return 0
    layers = len(blocks_of(encoder.transformer))
    if config.depth != "all" and config.depth > layers:
        raise RecipeError(f"model.depth is {config.depth}, but the encoder has {layers} blocks; set it to {layers}.")
    return layers if config.depth == "all" else config.depth
