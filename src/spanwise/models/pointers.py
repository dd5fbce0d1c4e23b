"""Base of LEAR and of the two formalizations it is compared with: starts and ends of every label, their losses and
their decoding (LEAR, sections 3.3 and 3.4).

Flat decoding matches starts with ends by probability (Algorithm 1) or by distance. Nested decoding uses a classifier
that scores every possible pair of a start and an end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Self

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor

from spanwise.decoding.pointers import CellRows, MatchScores, PointerDecoder, PointerScores
from spanwise.nn.pointers import Matcher, MatcherKind, MatchFeatures, gold_cells, matched_cells, pointer_targets
from spanwise.schema import Schema
from spanwise.seam.batch import Batch
from spanwise.seam.config import ModelConfig
from spanwise.seam.module import Loss, Output, Rescored, SpanModel
from spanwise.seam.traits import Traits

MATCHER_OPTIONS = ("matcher", "pointer_weight", "match_weight")


class PointerConfig(ModelConfig):
    """Options that the pointer models share."""

    nested: bool = Field(
        False, description="keep overlapping predictions; a classifier matches starts with ends (eq. 9)"
    )
    matching: Literal["heuristic", "nearest"] = Field(
        "heuristic", description="how flat decoding matches starts with ends: `heuristic` (Algorithm 1) or `nearest`"
    )
    matcher: MatcherKind = Field(
        "linear", description="classifier of nested matches: `linear` (eq. 9) or `mlp` (as in the public code)"
    )
    pointer_weight: float = Field(
        1.0, gt=0, le=1e6, description="α, weight of the loss of starts and ends in nested mode"
    )
    match_weight: float = Field(  # L_match is a mean over n² cells, L_s and L_e are means over n words
        100.0, gt=0, le=1e6, description="β, weight of the loss of matches in nested mode"
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout of the task layers")

    @model_validator(mode="wrap")
    @classmethod
    def _flat_needs_no_matcher(cls, options: object, validated: Callable[[object], Self]) -> Self:
        """Drop options that have no effect in flat mode, so that recipes that differ only in them are equal."""
        config = validated(options)
        if config.nested or not isinstance(options, dict):
            return config
        return validated({name: value for name, value in options.items() if name not in MATCHER_OPTIONS})

    def traits(self) -> Traits:
        return Traits(nested=self.nested)

    def decoder(self, schema: Schema) -> PointerDecoder:
        return PointerDecoder(self.nested, "classifier" if self.nested else self.matching)


class PointerModel(SpanModel[PointerScores[Tensor], MatchFeatures, CellRows[Tensor], MatchScores[Tensor]]):
    """Subclasses define `score`; `matcher` is None in flat mode."""

    config: PointerConfig
    matcher: Matcher | None

    def training_rows(
        self, output: Output[PointerScores[Tensor], MatchFeatures], batch: Batch[Tensor]
    ) -> CellRows[Tensor] | None:
        """The cells, i ≤ j, that are gold or that the matcher predicts as spans."""
        if self.matcher is None:
            return None
        gold = gold_cells(batch.require_gold().entities, output.scores.start.shape[2], output.scores.start.shape[1])
        taken = matched_cells(self.matcher, output.features, batch.words.scored)
        return CellRows(torch.cat((gold, taken)).unique())

    def rescore(self, features: MatchFeatures, rows: CellRows[Tensor]) -> MatchScores[Tensor]:
        if self.matcher is None:
            raise TypeError("without nested there is one stage")
        return MatchScores(self.matcher.cells(features, rows.cells))

    def loss(
        self,
        output: Output[PointerScores[Tensor], MatchFeatures],
        second: Rescored[CellRows[Tensor], MatchScores[Tensor]] | None,
        batch: Batch[Tensor],
    ) -> Loss:
        """L = L_s + L_e, or α·(L_s + L_e) + β·L_match"""
        gold, scored = batch.require_gold(), batch.words.scored
        share = scored / scored.sum(-1, keepdim=True) / batch.size  # 1/n   [B, T]
        known = gold.annotated.unsqueeze(1)  # [B, 1, C]
        targets = pointer_targets(gold.entities, output.scores.start.shape)
        start, end = (
            ((F.binary_cross_entropy_with_logits(logits, target, reduction="none") * known).sum(-1) * share).sum()
            for logits, target in zip(output.scores, targets, strict=True)
        )
        terms = {"starts": start, "ends": end}
        if second is None:
            return Loss(start + end, terms)
        terms["matches"] = self._match_loss(second, batch)
        total = self.config.pointer_weight * (start + end) + self.config.match_weight * terms["matches"]
        return Loss(total, terms)

    def _match_loss(self, second: Rescored[CellRows[Tensor], MatchScores[Tensor]], batch: Batch[Tensor]) -> Tensor:
        """L_match = 1/n²·Σ CE(P_ij, M_ij), averaged over sentences."""
        gold, scored, cells = batch.require_gold(), batch.words.scored, second.rows.cells
        labels, length = gold.annotated.shape[1], scored.shape[1]
        target = torch.isin(cells, gold_cells(gold.entities, labels, length)).float()
        each = F.binary_cross_entropy_with_logits(second.scores.logits, target, reduction="none")
        example, label = cells // (labels * length**2), cells // length**2 % labels
        words = scored.sum(-1)[example]  # n of each cell's sentence
        share = gold.sentences[example] / words**2  # of a window: the mean over its sentences, n / sentences words each
        return (each * gold.annotated[example, label] * share).sum() / batch.size
