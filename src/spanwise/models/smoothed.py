"""Shared by DSpERT and the biaffine classifier: candidates, boundary smoothing and the span loss (eq. 7)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor

from spanwise.nn.label_scorer import gold_count
from spanwise.nn.sampling import SampledSpans, sampling_weights
from spanwise.nn.smoothing import Smoothing, smoothed_loss, smoothed_targets
from spanwise.seam.batch import Batch
from spanwise.seam.config import Dimension, LabeledSpanConfig, Samples
from spanwise.seam.proposals import ALL_NEGATIVES, Negatives


class SmoothedSpanConfig(LabeledSpanConfig):
    """Options of models trained with boundary smoothing."""

    hidden: Dimension
    dropout: float = Field(0.4, ge=0, lt=1, description="dropout of the task layers")
    negatives: Samples | Literal["all"] = Field(
        "all", description="negative spans per training sentence: `all`, or a number to sample anew in every epoch"
    )
    smoothing: float = Field(0.1, ge=0, lt=1, description="ε of boundary smoothing (Zhu and Li 2022); 0 turns it off")
    smoothing_distance: int = Field(1, ge=1, le=32, description="D, largest distance in words of a smoothed boundary")

    def negatives_per_example(self) -> Negatives:
        return Negatives(ALL_NEGATIVES if self.negatives == "all" else self.negatives)


def candidate_weights(batch: Batch[Tensor], config: SmoothedSpanConfig) -> Tensor:
    """The inverse sampling rates of the batch's candidates. -> [N]"""
    return sampling_weights(
        batch.proposals.spans, batch.proposals.labels, batch.words.scored, config.resolved_max_width()
    )


def smoothed_span_loss(
    logits: Tensor, sampled: SampledSpans, weights: Tensor, batch: Batch[Tensor], config: SmoothedSpanConfig
) -> Tensor:
    """Loss summed over spans, averaged over sentences or, against label texts, over gold cells.

    logits [M, 1 + E] or [M, E] of the sampled candidates; weights [N] of all candidates
    """
    gold = batch.require_gold()
    smoothing = Smoothing(config.smoothing, config.smoothing_distance)
    labels, width = gold.annotated.shape[1], config.resolved_max_width()
    targets = smoothed_targets(batch.proposals.spans, gold.entities, batch.words.scored, labels, width, smoothing)
    total = smoothed_loss(
        logits,
        targets[sampled.candidates],
        weights[sampled.candidates] * sampled.weights,
        gold.annotated[sampled.spans[:, 0]],
        multi_label=config.independent,
    )
    return total / (gold_count(batch.proposals.labels) if config.reads_labels else batch.size)
