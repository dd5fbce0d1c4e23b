"""Two stages with marker tokens, as PL-Marker (Ye et al. 2022) needs them.

Stage two reads the text once more with four markers per pair of entities behind it. A marker has the position of the
word piece that it marks, sees the text and the markers of its own pair, and is seen by these alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from spanwise.decoding.pairs import PairRows
from spanwise.models.joint import JointConfig, JointModel
from spanwise.nn.classification import class_count
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.packing import Packing
from spanwise.nn.spans import boundary_vectors
from spanwise.schema import Schema
from spanwise.seam.batch import Batch
from spanwise.seam.encoding import Encoded
from spanwise.seam.traits import Traits

MARKERS = ("[S]", "[/S]", "[O]", "[/O]")


class MarkersConfig(JointConfig):
    def traits(self) -> Traits:
        return replace(super().traits(), special_tokens=MARKERS)


class Text(NamedTuple):
    """What stage two reads again."""

    words: Tensor  # [B, T, d]
    pieces: Tensor  # [B, P]
    piece_mask: Tensor  # [B, P]
    first_piece: Tensor  # [B, T]
    last_piece: Tensor  # [B, T]


class Markers(JointModel[Text]):
    """Entities from their first and last words, relations from markers."""

    Config = MarkersConfig
    summary = "relations from levitated markers"
    config: MarkersConfig

    def __init__(self, encoder: WordEncoder, config: MarkersConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        self.span = nn.Linear(2 * encoder.dim, class_count(len(schema.entities), config.multi_label))
        self.pair = nn.Linear(len(MARKERS) * encoder.dim, len(schema.relations))

    def features(self, encoded: Encoded, batch: Batch[Tensor]) -> Text:
        words = batch.words
        return Text(encoded.words, words.pieces, words.piece_mask, words.first_piece, words.last_piece)

    def score_spans(self, features: Text, spans: Tensor) -> Tensor:
        scores: Tensor = self.span(boundary_vectors(features.words, spans))
        return scores

    def score_pairs(self, features: Text, rows: PairRows[Tensor]) -> Tensor:
        head, tail = (rows.spans[side] for side in rows.pairs.unbind(-1))  # [M, 3]
        packing = Packing.of(head[:, 0], len(features.words))
        marked = packing.pad(self._marked_pieces(features, head, tail))  # [L, S, 4]
        hidden = self._read(features, packing, marked.flatten(1))
        markers = hidden[:, features.pieces.shape[1] :].unflatten(1, (packing.slots, len(MARKERS)))
        scores: Tensor = self.pair(packing.pack(markers.flatten(2)))
        return scores

    def _marked_pieces(self, features: Text, head: Tensor, tail: Tensor) -> Tensor:
        """The pieces that the four markers of each pair stand for. -> [M, 4]"""
        sides = [
            place[span[:, 0], span[:, column] - offset]
            for span in (head, tail)
            for place, column, offset in ((features.first_piece, 1, 0), (features.last_piece, 2, 1))
        ]
        return torch.stack(sides, dim=1)

    def _read(self, features: Text, packing: Packing, positions: Tensor) -> Tensor:
        """Texts with markers behind them at these positions [L, 4·S] -> [L, P + 4·S, d]"""
        lines, number = positions.shape
        length = features.pieces.shape[1]
        ids = torch.tensor([self.encoder.special_ids[token] for token in MARKERS], device=positions.device)
        pieces = torch.cat((features.pieces[packing.source], ids.repeat(lines, number // len(MARKERS))), dim=1)
        places = torch.cat((torch.arange(length, device=ids.device).expand(lines, -1), positions), dim=1)
        pair = torch.arange(number, device=ids.device) // len(MARKERS)
        sees = torch.zeros(lines, length + number, length + number, dtype=torch.bool, device=ids.device)
        sees[:, :, :length] = features.piece_mask[packing.source].bool().unsqueeze(1)
        sees[:, length:, length:] = pair.unsqueeze(1) == pair
        return self.encoder.hidden(pieces, sees, torch.zeros_like(pieces), places)
