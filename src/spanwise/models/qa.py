"""The QA formalization of span extraction (BERT-MRC, Li et al. 2020; LEAR, sections 1 and 4.2): one question per label.

The encoder reads "[CLS] description [SEP] text [SEP]" once per label. One pointer, shared by all labels, predicts where
answers start and end. This costs more than |C| times as much as encoding the text once.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from spanwise.decoding.pointers import PointerScores
from spanwise.models.pointers import PointerConfig, PointerModel
from spanwise.nn.blockwise import blockwise
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.packing import largest
from spanwise.nn.pointers import Matcher, MatchFeatures, pointer_layer
from spanwise.schema import Schema
from spanwise.seam.batch import Batch, LabelTexts, Words
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Output, Tensors
from spanwise.seam.traits import Traits

BLOCK_SIZE = 2**13  # word pieces encoded per block of questions
RECOMPUTE_ABOVE = 2**14  # above this number of word pieces, training recomputes activations in the backward pass


class QAConfig(PointerConfig):
    """Options of the pointer models. New labels can be given at inference, as new questions."""

    def traits(self) -> Traits:
        return replace(super().traits(), label_texts="descriptions", labels_in_window=True, open_labels=True)


class QA(PointerModel):
    """Pointer model with one question per label."""

    Config = QAConfig
    summary = "one encoder pass per label, with its description as a question (BERT-MRC); slow; flat or nested"

    def __init__(self, encoder: WordEncoder, config: QAConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        self.dropout = nn.Dropout(config.dropout)
        self.start, self.end = (pointer_layer(encoder.dim, 1) for _ in range(2))
        self.matcher = Matcher(config.matcher, encoder.dim, 1) if config.nested else None

    def forward(
        self, batch: Batch[Tensor], labels: Tensors | None = None
    ) -> Output[PointerScores[Tensor], MatchFeatures]:
        return self.score(None, batch)  # the text alone is never encoded

    def score(
        self, encoded: Encoded | None, batch: Batch[Tensor], labels: Tensors | None = None
    ) -> Output[PointerScores[Tensor], MatchFeatures]:
        questions = batch.require_label_texts()
        answers = self._ask_all(questions, batch.words).permute(1, 2, 0, 3)  # [B, T, C, 2 + 2k]
        heads, tails = answers[..., 2:].chunk(2, dim=-1) if self.matcher is not None else (answers[..., 2:],) * 2
        return Output(PointerScores(answers[..., 0], answers[..., 1]), MatchFeatures(heads, tails))

    def _ask_all(self, questions: LabelTexts[Tensor], words: Words[Tensor]) -> Tensor:
        """All C questions, a block of them at a time. -> [C, B, T, 2 + 2k]"""
        number, longest = questions.pieces.shape
        size, length = words.pieces.shape
        labels = torch.arange(number, device=questions.pieces.device)
        if torch.compiler.is_exporting():
            return self._ask(labels, questions, words)
        each = size * (length + longest - int(_prefix(questions)))
        recompute = self.training and each * number > RECOMPUTE_ABOVE
        blocks = ((chosen, questions, words) for chosen in labels.split(max(1, BLOCK_SIZE // each)))
        return blockwise(self._ask, blocks, recompute=recompute)

    def _ask(self, labels: Tensor, questions: LabelTexts[Tensor], words: Words[Tensor]) -> Tensor:
        """Scores and match features for c questions. labels [c] -> [c, B, T, 2 + 2k]"""
        asked, of_text = _before_texts(labels, questions, words)
        has_token_types = getattr(self.encoder.transformer.config, "type_vocab_size", 0) > 1
        hidden = self.encoder.hidden(asked.pieces, asked.piece_mask, of_text.long() if has_token_types else None)
        vectors = self.dropout(self.encoder.pool(hidden, asked).words)
        ends = [self.matcher.head, self.matcher.tail] if self.matcher is not None else []
        answers = torch.cat([layer(vectors) for layer in (self.start, self.end, *ends)], dim=-1)  # [c·B, T, 2 + 2k]
        return answers.view(labels.shape[0], -1, *answers.shape[1:])


def _before_texts(labels: Tensor, questions: LabelTexts[Tensor], words: Words[Tensor]) -> tuple[Words[Tensor], Tensor]:
    """Prepend each of c questions to each text, grouped by label; the mask marks the text's pieces. -> [c·B, L]"""
    size, length = words.pieces.shape
    number = labels.shape[0]
    label = labels.unsqueeze(1).expand(number, size).flatten()
    row = torch.arange(size, device=labels.device).expand(number, size).flatten()
    ends = questions.mask[label].sum(-1, keepdim=True)  # where a question ends and the text begins
    shift = ends - _prefix(questions)
    place = torch.arange(largest(shift) + length, device=labels.device)
    of_text = place >= ends
    behind = (place - shift).clamp(min=0)
    at = behind.clamp(max=length - 1)
    question = questions.pieces[label].gather(1, place.clamp(max=questions.pieces.shape[1] - 1).expand_as(at))
    text_mask = words.piece_mask[row].gather(1, at) * (behind < length)
    asked = replace(
        words.map(lambda part: part[row]),
        pieces=torch.where(of_text, words.pieces[row].gather(1, at), question),
        piece_mask=torch.where(of_text, text_mask, 1),
        first_piece=words.first_piece[row] + shift,
        last_piece=words.last_piece[row] + shift,
    )
    return asked, of_text


def _prefix(questions: LabelTexts[Tensor]) -> Tensor:
    """The number of special pieces before a text."""
    return questions.content[0].int().argmax()
