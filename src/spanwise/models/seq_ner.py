"""SeqNER, the sequence-labelling model of BL-NER (Ji et al., Win-Win Cooperation), section 3.1.2.

Every word gets one BIO tag, by softmax or by a CRF; consecutive tags of one type are an entity.
An I- tag without its B- starts an entity.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from spanwise.models.base import Abilities, Least, Loss, ModelConfig, Prediction, ScoredSpan, SpanModel
from spanwise.nn.batch import Batch
from spanwise.nn.crf import CRF
from spanwise.nn.encoder import Encoded, WordEncoder
from spanwise.nn.tags import covered_words
from spanwise.schema import Schema


class SeqNERConfig(ModelConfig):
    tagging: Literal["softmax", "crf"] = "softmax"
    dropout: float = Field(0.1, ge=0, lt=1)


class SeqNER(SpanModel):
    """A tagger over word vectors."""

    Config = SeqNERConfig
    can = Abilities(tagger=True)
    summary = "BIO tags by softmax or CRF (BL-NER, section 3.1.2); flat entities of any width"
    config: SeqNERConfig

    def __init__(self, encoder: WordEncoder, config: SeqNERConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        tags = 1 + 2 * len(schema.entities)  # O, then B and I of each type
        self.dropout = nn.Dropout(config.dropout)
        self.emit = nn.Linear(encoder.dim, tags)
        self.crf = CRF(tags) if config.tagging == "crf" else None

    def score(self, encoded: Encoded, batch: Batch) -> Tensor:
        emissions: Tensor = self.emit(self.dropout(encoded.words))  # eq. 5   [B, T, C]
        return emissions

    def loss(self, scores: Tensor, batch: Batch) -> Loss:
        tags = bio_tags(batch)
        if self.crf is None:
            total = F.cross_entropy(scores[batch.word_mask], tags[batch.word_mask])  # eqs. 6, 7
        else:
            total = self.crf.negative_log_likelihood(scores, tags, batch.word_mask).mean()  # eq. 10
        return Loss(total, {"tags": total})

    def decode(self, scores: Tensor, batch: Batch, least: Least) -> list[Prediction]:
        if self.crf is None:
            probability, tags = scores.softmax(-1).max(-1)
        else:
            tags = self.crf.viterbi(scores, batch.word_mask)  # eq. 11
            probability = self.crf.marginals(scores, batch.word_mask).gather(-1, tags.unsqueeze(-1)).squeeze(-1)
        tags = tags.masked_fill(~batch.word_mask, 0)
        return combine_tags(tags.cpu().numpy(), probability.cpu().float().numpy(), least.entities.cpu().numpy())


def bio_tags(batch: Batch) -> Tensor:
    """The gold tag of every word: 0 is O, 1 + 2k begins type k, 2 + 2k is inside it. -> [B, T]"""
    row, start, end, label = batch.gold[batch.gold_flat].unbind(-1)
    tags = torch.zeros_like(batch.word_mask, dtype=torch.long)
    span, position = covered_words(start, end)
    tags[row[span], position] = 2 + 2 * label[span]
    tags[row, start] = 1 + 2 * label
    return tags


def combine_tags(tags: np.ndarray, probability: np.ndarray, thresholds: np.ndarray) -> list[Prediction]:
    """The label combiner: runs of tags of one type become spans, as sure as the least sure of their tags."""
    size = len(tags)
    tags = np.pad(tags, ((0, 0), (1, 1)))  # an O before and behind every sentence
    probability = np.pad(probability, ((0, 0), (1, 1)), constant_values=1.0)
    kind = (tags - 1) // 2  # type of each tag; O is -1
    inside = (tags > 0) & (tags % 2 == 0)
    continues = np.zeros_like(inside)
    continues[:, 1:] = inside[:, 1:] & (kind[:, 1:] == kind[:, :-1])
    stride = tags.shape[1]
    begins = np.flatnonzero((tags > 0) & ~continues)
    stops = np.flatnonzero(~continues)
    ends = stops[np.searchsorted(stops, begins, side="right")] if len(begins) else begins
    borders = np.stack((begins, ends), axis=1).ravel()
    least = np.minimum.reduceat(probability.ravel(), borders)[::2] if len(begins) else np.zeros(0)
    found: list[list[ScoredSpan]] = [[] for _ in range(size)]
    for begin, end, score in zip(begins.tolist(), ends.tolist(), least.tolist(), strict=True):
        row, start = divmod(begin, stride)
        label = int(kind[row, start])
        if score >= thresholds[label]:
            found[row].append(ScoredSpan(start - 1, end - row * stride - 1, label, score))
    return [Prediction(tuple(spans)) for spans in found]
