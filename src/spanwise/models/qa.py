"""The QA formalisation of span extraction (BERT-MRC, Li et al. 2020; LEAR, sections 1 and 4.2): one question per label.

"[CLS] description [SEP] text [SEP]" goes through the encoder once for every label, and one pointer for all of them says
where an answer starts and ends. The cost is |C| times that of the text, and more.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from spanwise.models.base import Abilities
from spanwise.models.pointing import Matcher, PointerConfig, PointerModel, PointerScores, pointer
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import Encoded, WordEncoder
from spanwise.nn.labels import LabelPieces, PiecesOf
from spanwise.schema import Schema

AT_ONCE = 2**13  # word pieces of the questions that are asked together
KEPT = 2**14  # word pieces that training keeps for its backward pass; beyond, questions are asked again


class QAConfig(PointerConfig):
    """Those of every pointer model; a question about a new label is as good as any."""

    def takes_new_labels(self) -> bool:
        return True


class QA(PointerModel):
    """Every label is a question to the text."""

    Config = QAConfig
    can = Abilities(nested=True, needs_descriptions=True)
    summary = "asks for the spans of each label in a pass of its own (BERT-MRC); slow, flat or nested entities"
    config: QAConfig
    asked: Tensor
    asked_mask: Tensor

    def __init__(self, encoder: WordEncoder, config: QAConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        self.dropout = nn.Dropout(config.dropout)
        self.start, self.end = (pointer(encoder.dim, 1) for _ in range(2))
        self.matcher = Matcher(config.matcher, encoder.dim, 1) if config.nested else None
        self.prefix = 0  # special pieces before a text

    @property
    def reserved(self) -> int:
        return self.asked.shape[1] - self.prefix

    def read_labels(self, pieces_of: PiecesOf) -> None:
        questions: LabelPieces = pieces_of([entity.description for entity in self.schema.entities])
        self.prefix = int(questions.content[0].int().argmax())
        self.register_buffer("asked", questions.pieces, persistent=False)
        self.register_buffer("asked_mask", questions.mask, persistent=False)

    def forward(self, batch: Batch) -> PointerScores:
        return self.score(None, batch)  # the text alone is never encoded

    def score(self, encoded: Encoded | None, batch: Batch) -> PointerScores:
        size, length = batch.pieces.shape
        each = size * (length + self.reserved)
        again = self.training and each * len(self.asked) > KEPT
        found = []
        for labels in torch.arange(len(self.asked), device=self.asked.device).split(max(1, AT_ONCE // each)):
            ask = (labels, batch)
            found.append(checkpoint(self._ask, *ask, use_reentrant=False) if again else self._ask(*ask))
        return PointerScores.of(torch.cat(found).permute(1, 2, 0, 3))

    def _ask(self, labels: Tensor, batch: Batch) -> Tensor:
        """The answers to c questions. labels [c] -> [c, B, T, 2 + 2k]"""
        asked, of_text = self._questions(labels, batch)
        told_apart = getattr(self.encoder.transformer.config, "type_vocab_size", 0) > 1
        hidden = self.encoder.hidden(asked.pieces, asked.piece_mask, of_text.long() if told_apart else None)
        words = self.dropout(self.encoder.pool(hidden, asked).words)
        ends = [self.matcher.head, self.matcher.tail] if self.matcher is not None else []
        answers = torch.cat([layer(words) for layer in (self.start, self.end, *ends)], dim=-1)  # [c·B, T, 2 + 2k]
        return answers.view(len(labels), -1, *answers.shape[1:])

    def _questions(self, labels: Tensor, batch: Batch) -> tuple[Batch, Tensor]:
        """Each of c questions before each text, label by label, and which pieces are the text's. -> [c·B, L]"""
        size, length = batch.pieces.shape
        label = labels.repeat_interleave(size)
        row = torch.arange(size, device=labels.device).repeat(len(labels))
        ends = self.asked_mask[label].sum(-1, keepdim=True)  # where a question ends and the text begins
        shift = ends - self.prefix
        place = torch.arange(int(shift.max()) + length, device=labels.device)
        of_text = place >= ends
        behind = (place - shift).clamp(min=0)
        at = behind.clamp(max=length - 1)
        question = self.asked[label].gather(1, place.clamp(max=self.asked.shape[1] - 1).expand_as(at))
        text_mask = batch.piece_mask[row].gather(1, at) * (behind < length)
        asked = replace(
            batch,
            pieces=torch.where(of_text, batch.pieces[row].gather(1, at), question),
            piece_mask=torch.where(of_text, text_mask, 1),
            first_piece=batch.first_piece[row] + shift,
            last_piece=batch.last_piece[row] + shift,
            word_mask=batch.word_mask[row],
            shapes=batch.shapes[row],
        )
        return asked, of_text
