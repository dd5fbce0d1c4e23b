"""SpanNER, the span-based model of BL-NER (Ji et al., Win-Win Cooperation), sections 3.1.3, 3.2.2 and 3.2.3.

Every span of at most ε words is a candidate and gets an entity type or None. Flat mode keeps only the most probable of
overlapping spans; nested mode keeps all.

Beyond the paper, spans can be scored against the texts of labels instead of one output per label (nn.label_scorer).
"""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field
from torch import Tensor, nn

from spanwise.decoding.spans import SpanDecoder, SpanScores
from spanwise.nn.classification import class_count, span_loss
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.label_scorer import LabelScorer, LabelVectors, label_loss
from spanwise.nn.spans import Representation, SpanRepresentation
from spanwise.schema import Schema
from spanwise.seam.batch import Batch, LabelTexts
from spanwise.seam.config import Dimension, LabeledSpanConfig, Samples
from spanwise.seam.decoder import NoRows
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Loss, OneStageModel, Output, Rescored, Templates, Tensors
from spanwise.seam.proposals import Negatives
from spanwise.seam.traits import Traits


class SpanNERConfig(LabeledSpanConfig):
    """Options of SpanNER."""

    representation: Representation = Field(
        "hybrid", description="span vectors: `boundary`, `pooling` or `hybrid` (eqs. 13 to 15)"
    )
    negatives: Samples = Field(100, description="negative spans sampled per training sentence (eq. 20)")
    width_dim: Dimension = Field(25, description="size of the width embedding")

    def traits(self) -> Traits:
        return replace(super().traits(), span_vectors=not self.reads_labels)

    def negatives_per_example(self) -> Negatives:
        return Negatives(self.negatives)

    def decoder(self, schema: Schema) -> SpanDecoder:
        return SpanDecoder(self.nested, self.multi_label, self.independent)  # eq. 17


class SpanNER(OneStageModel[SpanScores[Tensor]]):
    """A classifier over span representations."""

    Config = SpanNERConfig
    summary = "classifies every span up to a width (BL-NER, section 3.1.3); flat or nested entities"
    config: SpanNERConfig

    def __init__(self, encoder: WordEncoder, config: SpanNERConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        width = config.resolved_max_width()
        self.spans = SpanRepresentation(config.representation, encoder.dim, width, config.width_dim)
        self.dropout = nn.Dropout(config.dropout)
        if config.reads_labels:
            self.label_scorer = LabelScorer(self.spans.dim, encoder.dim, config.dropout)
        else:
            self.classify = nn.Linear(self.spans.dim, class_count(len(schema.entities), config.multi_label))

    def encode_labels(self, texts: LabelTexts[Tensor]) -> Tensors:
        return self.label_scorer.encode(self.encoder, texts) if self.config.reads_labels else ()

    def score(
        self, encoded: Encoded, batch: Batch[Tensor], labels: Tensors | None = None
    ) -> Output[SpanScores[Tensor], NoRows]:
        if self.config.reads_labels:
            logits = self._label_scores(encoded, batch, labels)
        elif self.training:
            logits = self.classify(self.dropout(self.span_vectors(encoded, batch)))  # eq. 16   [N, 1 + E]
        else:
            logits = self.spans.projected(encoded, batch.proposals.spans, self.classify)
        return Output(SpanScores(logits), NoRows())

    def _label_scores(self, encoded: Encoded, batch: Batch[Tensor], labels: Tensors | None) -> Tensor:
        """-> [N, C]"""
        spans = batch.proposals.spans
        reduced = self.spans.projected(encoded, spans, self.label_scorer.reduce)
        known = LabelVectors(*(self.encode_labels(batch.require_label_texts()) if labels is None else labels))
        scores: Tensor = self.label_scorer(reduced, encoded.words, spans, known)
        return scores

    def span_vectors(self, encoded: Encoded, batch: Batch[Tensor]) -> Tensor:
        vectors: Tensor = self.spans(encoded, batch.proposals.spans)  # eqs. 13 to 15   [N, D]
        return vectors

    def templates(self) -> Templates[Tensor]:
        return Templates(self.classify.weight, self.classify.bias)

    def loss(
        self,
        output: Output[SpanScores[Tensor], NoRows],
        second: Rescored[NoRows, NoRows] | None,
        batch: Batch[Tensor],
    ) -> Loss:
        annotated = batch.require_gold().annotated[batch.proposals.spans[:, 0]]
        logits, labels = output.scores.logits, batch.proposals.labels
        if self.config.reads_labels:
            total = label_loss(logits, labels, annotated)
        else:
            total = span_loss(logits, labels, annotated, multi_label=self.config.multi_label)  # eqs. 17, 18
        return Loss(total, {"spans": total})
