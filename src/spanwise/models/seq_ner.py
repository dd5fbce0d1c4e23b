"""SeqNER, the sequence-labeling model of BL-NER (Ji et al., Win-Win Cooperation), section 3.1.2.

Every word gets one BIO tag, by softmax or by a CRF; consecutive tags of one type form an entity.
"""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from spanwise.decoding.tags import TagDecoder, TagScores
from spanwise.nn.classification import UNKNOWN_LOGIT
from spanwise.nn.crf import CRF
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.tags import bio_tags, shift_to_first_scored
from spanwise.schema import Schema
from spanwise.seam.batch import Batch
from spanwise.seam.config import ModelConfig
from spanwise.seam.decoder import NoRows
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Loss, OneStageModel, Output, Rescored, Tensors
from spanwise.seam.traits import Traits


class SeqNERConfig(ModelConfig):
    """Options of SeqNER."""

    tagging: Literal["softmax", "crf"] = Field("softmax", description="`softmax` or `crf`")
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout of the task layers")

    def traits(self) -> Traits:
        return Traits(tagger=True)

    def decoder(self, schema: Schema) -> TagDecoder:
        return TagDecoder(crf=self.tagging == "crf")  # eq. 11


class SeqNER(OneStageModel[TagScores[Tensor]]):
    """A tagger over word vectors."""

    Config = SeqNERConfig
    summary = "BIO tags by softmax or CRF (BL-NER, section 3.1.2); flat entities of any width"
    config: SeqNERConfig

    def __init__(self, encoder: WordEncoder, config: SeqNERConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        tags = 1 + 2 * len(schema.entities)  # O, then B and I of each type
        self.dropout = nn.Dropout(config.dropout)
        self.emit = nn.Linear(encoder.dim, tags)
        self.crf = CRF(tags) if config.tagging == "crf" else None

    def score(
        self, encoded: Encoded, batch: Batch[Tensor], labels: Tensors | None = None
    ) -> Output[TagScores[Tensor], NoRows]:
        emissions: Tensor = self.emit(self.dropout(encoded.words))  # eq. 5   [B, T, C]
        none = emissions.new_zeros(0)
        chain = (none, none, none) if self.crf is None else (self.crf.transitions, self.crf.start, self.crf.end)
        return Output(TagScores(emissions, *chain), NoRows())

    def loss(
        self,
        output: Output[TagScores[Tensor], NoRows],
        second: Rescored[NoRows, NoRows] | None,
        batch: Batch[Tensor],
    ) -> Loss:
        scored, gold = batch.words.scored, batch.require_gold()
        tags = bio_tags(gold.entities[gold.outermost], *scored.shape)
        unknown = F.pad(~gold.annotated.repeat_interleave(2, dim=-1), (1, 0))  # [B, C]
        emissions = output.scores.emissions.masked_fill(unknown.unsqueeze(1), UNKNOWN_LOGIT)
        if self.crf is None:
            total = F.cross_entropy(emissions[scored], tags[scored])  # eqs. 6, 7
        else:
            chain = (shift_to_first_scored(part, scored) for part in (emissions, tags, scored))
            total = self.crf.negative_log_likelihood(*chain).mean()  # eq. 10
        return Loss(total, {"tags": total})
