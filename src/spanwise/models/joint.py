"""Base of the joint models, after Eberts and Ulges 2019: classify spans first, then pairs of entities.

Training uses the gold pairs and a sample of other pairs of gold entities; inference uses all pairs of predicted
entities. A subclass defines the features that both classifiers read, and how it scores spans and pairs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Generic, Literal, TypeVar

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor

from spanwise.decoding.pairs import Activation, PairDecoder, PairRows, PairScores
from spanwise.decoding.spans import SpanScores
from spanwise.nn.classification import span_loss
from spanwise.plural import counted
from spanwise.schema import Schema
from spanwise.seam.batch import Batch
from spanwise.seam.config import Dimension, Samples, SpanConfig, Width
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Loss, Output, Rescored, SpanModel, Tensors
from spanwise.seam.proposals import Negatives, Proposer, SpanProposer
from spanwise.seam.traits import Traits
from spanwise.text.profile import DataProfile

Features = TypeVar("Features", bound=tuple[Tensor, ...])


class JointConfig(SpanConfig):
    """Options that the joint models share."""

    max_width: Width | Literal["auto"] = Field(
        10, description="widest span in words; `auto` covers the share `coverage` of the training entities"
    )
    negative_spans: Samples = Field(100, description="negative spans sampled per training sentence")
    negative_pairs: Samples = Field(100, description="pairs of gold entities without a relation, per training sentence")
    width_dim: Dimension = Field(25, description="size of the width embedding")
    relation_threshold: float = Field(0.4, ge=0, le=1, description="lowest probability of a predicted relation")

    def traits(self) -> Traits:
        return replace(super().traits(), relations=True, relation_threshold=self.resolved_relation_threshold())

    def resolved_relation_threshold(self) -> float:
        return self.relation_threshold

    def notices(self, profile: DataProfile) -> Iterator[str]:
        yield from super().notices(profile)
        width = self.resolved_max_width()
        if wide := profile.relations_wider_than(width):
            lost = counted(wide, "training relation joins", "training relations join")
            yield f"{lost} an entity wider than {counted(width, 'word')} and cannot be learned."
        if not profile.relations:
            yield "the data has no relations; the model will learn entities only."

    def negatives_per_example(self) -> Negatives:
        return Negatives(self.negative_spans)

    def negative_pairs_per_example(self) -> Negatives:
        return Negatives(self.negative_pairs)

    def proposer(self, schema: Schema) -> Proposer:
        return SpanProposer(
            max_width=self.resolved_max_width(),
            negatives=self.negatives_per_example(),
            merge_labels=self.independent,
            pairs=self.negative_pairs_per_example(),
            relations=len(schema.relations),
        )

    def activation(self) -> Activation:
        """Sigmoid scores each relation type independently; softmax allows at most one type per pair."""
        return "sigmoid"

    def decoder(self, schema: Schema) -> PairDecoder:
        return PairDecoder.of(
            schema,
            nested=self.nested,
            multi_label=self.multi_label,
            activation=self.activation(),
            independent=self.independent,
        )


class JointModel(SpanModel[SpanScores[Tensor], Features, PairRows[Tensor], PairScores[Tensor]], Generic[Features]):
    """Score spans, then pairs. Subclasses define `features`, `score_spans` and `score_pairs`."""

    config: JointConfig

    @abstractmethod
    def features(self, encoded: Encoded, batch: Batch[Tensor]) -> Features:
        """The features that both classifiers read, computed once per batch."""

    @abstractmethod
    def score_spans(self, features: Features, spans: Tensor) -> Tensor:
        """spans [N, 3] -> [N, 1 + E], or [N, E] with `multi_label`"""

    @abstractmethod
    def score_pairs(self, features: Features, rows: PairRows[Tensor]) -> Tensor:
        """-> [M, R], or [M, 1 + R] with None first"""

    def score(
        self, encoded: Encoded, batch: Batch[Tensor], labels: Tensors | None = None
    ) -> Output[SpanScores[Tensor], Features]:
        features = self.features(encoded, batch)
        return Output(SpanScores(self.score_spans(features, batch.proposals.spans)), features)

    def training_rows(
        self, output: Output[SpanScores[Tensor], Features], batch: Batch[Tensor]
    ) -> PairRows[Tensor] | None:
        if not batch.proposals.relations.numel():
            return None
        rows, pairs = batch.proposals.pairs.unique(return_inverse=True)
        return PairRows(batch.proposals.spans[rows], pairs.view(-1, 2))

    def rescore(self, features: Features, rows: PairRows[Tensor]) -> PairScores[Tensor]:
        return PairScores(self.score_pairs(features, rows))

    def loss(
        self,
        output: Output[SpanScores[Tensor], Features],
        second: Rescored[PairRows[Tensor], PairScores[Tensor]] | None,
        batch: Batch[Tensor],
    ) -> Loss:
        terms = self.terms(output, second, batch)
        return Loss(terms["spans"] + terms["pairs"], terms)

    def terms(
        self,
        output: Output[SpanScores[Tensor], Features],
        second: Rescored[PairRows[Tensor], PairScores[Tensor]] | None,
        batch: Batch[Tensor],
    ) -> dict[str, Tensor]:
        """The losses of spans and pairs; the pair loss is 0 without pairs or relation types."""
        annotated = batch.require_gold().annotated[batch.proposals.spans[:, 0]]
        logits, labels = output.scores.logits, batch.proposals.labels
        spans = self.span_loss(logits, labels, annotated)
        if second is None:
            return {"spans": spans, "pairs": spans.new_zeros(())}
        return {"spans": spans, "pairs": self.pair_loss(second.scores.logits, batch.proposals.relations)}

    def span_loss(self, logits: Tensor, labels: Tensor, annotated: Tensor) -> Tensor:
        """Cross entropy, averaged over spans; with `multi_label`, binary and summed over labels."""
        return span_loss(logits, labels, annotated, multi_label=self.config.multi_label)

    def pair_loss(self, logits: Tensor, relations: Tensor) -> Tensor:
        """Binary cross entropy, averaged over types and pairs."""
        return F.binary_cross_entropy_with_logits(logits, relations)
