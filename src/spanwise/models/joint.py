"""What the joint models share, after Eberts and Ulges 2019: spans are classified first, then pairs of entities.

In training the pairs are gold ones and a sample of others between gold entities; at inference, all between entities
found. A model says what it sees of the words, and how it scores spans and pairs.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from pydantic import Field, PositiveInt
from torch import Tensor

from spanwise.models.base import Candidates, Least, Loss, Negatives, Prediction, SpanConfig, SpanModel
from spanwise.models.decoding import Found, Linked, PairFilter, entities_of, gathered, pairs_of, relations_of
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import Encoded, WordEncoder
from spanwise.nn.pooling import Maxima
from spanwise.schema import Schema


class JointConfig(SpanConfig):
    """Options that the joint models share."""

    max_width: PositiveInt | Literal["auto"] = 10
    negative_spans: int = Field(100, gt=0)
    negative_pairs: int = Field(100, gt=0)
    width_dim: int = Field(25, gt=0)
    relation_threshold: float = Field(0.4, ge=0, le=1)

    def least_relation(self) -> float:
        return self.relation_threshold

    def negatives(self) -> tuple[Negatives, Negatives]:
        """Of spans and of pairs."""
        return Negatives(self.negative_spans), Negatives(self.negative_pairs)


class JointScores(NamedTuple):
    spans: Tensor  # [N, 1 + E]   None, then the types
    pairs: Tensor  # [M, R]       of the batch's pairs
    seen: Any  # what the model sees of the words: pairs of found entities are scored from it


class Ends(NamedTuple):
    """K entities as heads and as tails of relations, and the words between them."""

    spans: Tensor  # [K, 3]
    heads: Tensor  # [K, R]
    tails: Tensor  # [K, R]
    words: Maxima


class JointModel(SpanModel):
    """Spans, then pairs. Subclasses give `see`, `score_spans`, `see_pairs` and `score_pairs`."""

    config: Any

    def __init__(self, encoder: WordEncoder, config: JointConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        self.may_hold = PairFilter(schema)

    @property
    def candidates(self) -> Candidates:
        spans, pairs = self.config.negatives()
        return Candidates(self.config.settled_width(), spans, pairs, len(self.schema.relations))

    @abstractmethod
    def see(self, encoded: Encoded, batch: Batch) -> Any:
        """What both classifiers look at, once per batch."""

    @abstractmethod
    def score_spans(self, seen: Any, spans: Tensor) -> Tensor:
        """spans [N, 3] -> [N, 1 + E]"""

    @abstractmethod
    def see_pairs(self, seen: Any, spans: Tensor) -> Any:
        """What pairs of these spans [K, 3] are scored from, however many there are."""

    @abstractmethod
    def score_pairs(self, seen: Any, pairs: Tensor) -> Tensor:
        """From what `see_pairs` gave; pairs [M, 2] are rows of its spans, grouped by example.

        -> [M, R], or [M, 1 + R] with None first
        """

    def score(self, encoded: Encoded, batch: Batch) -> JointScores:
        seen = self.see(encoded, batch)
        spans = self.score_spans(seen, batch.spans)
        if not len(batch.pairs):
            return JointScores(spans, spans.new_zeros(0, batch.pair_labels.shape[1]), seen)
        rows, pairs = batch.pairs.unique(return_inverse=True)
        return JointScores(spans, self.score_pairs(self.see_pairs(seen, batch.spans[rows]), pairs.view(-1, 2)), seen)

    def loss(self, scores: JointScores, batch: Batch) -> Loss:
        terms = self.terms(scores, batch)
        return Loss(terms["spans"] + terms["pairs"], terms)

    def terms(self, scores: JointScores, batch: Batch) -> dict[str, Tensor]:
        """The losses of spans and pairs; that of pairs is 0 where there are none, or no types for them to hold."""
        spans = F.cross_entropy(scores.spans, batch.span_labels)
        pairs = self.pair_loss(scores.pairs, batch.pair_labels) if batch.pair_labels.numel() else spans.new_zeros(())
        return {"spans": spans, "pairs": pairs}

    def pair_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Binary cross entropy, averaged over types, then pairs."""
        return F.binary_cross_entropy_with_logits(scores, labels)

    def pair_probabilities(self, scores: Tensor, possible: Tensor) -> Tensor:
        """Of each type on its own, whatever else is `possible` [M, R]. -> [M, R]"""
        return scores.sigmoid()

    def decode(self, scores: JointScores, batch: Batch, least: Least) -> list[Prediction]:
        found = entities_of(scores.spans, batch.spans, least.entities, nested=self.nested)
        return gathered(found, batch.size, self._link(scores.seen, found, least.relations))

    def relate(self, batch: Batch, least: Least) -> list[Prediction]:
        seen = self.see(self.encoder(batch), batch)
        given = Found(batch.spans, batch.span_labels - 1, torch.ones(len(batch.spans), device=batch.spans.device))
        return gathered(given, batch.size, self._link(seen, given, least.relations))

    def _link(self, seen: Any, found: Found, least: Tensor) -> Linked | None:
        """The relations between found entities, a bounded number of pairs at a time."""
        if not len(least) or not len(found.spans):
            return None
        ready = self.see_pairs(seen, found.spans)
        linked = []
        for pairs, allowed in pairs_of(found, self.may_hold):
            possible = self.may_hold.possible(found, pairs)
            probability = self.pair_probabilities(self.score_pairs(ready, pairs), possible)
            linked.append(relations_of(probability, pairs, allowed, least))
        return Linked(*map(torch.cat, zip(*linked, strict=True))) if linked else None
