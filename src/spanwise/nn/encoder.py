"""Word vectors from any Hugging Face encoder: BL-NER section 3.1.1, shared by every model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from spanwise.nn.pooling import Pooling, pool_pieces
from spanwise.seam.batch import Words
from spanwise.seam.encoding import Encoded

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class WordEncoder(nn.Module):
    """A transformer over word pieces, pooled to words; optionally a learned vector per word shape is added.

    The word shape gives an uncased encoder the capitals that names are made of.
    """

    def __init__(
        self,
        transformer: PreTrainedModel,
        *,
        pooling: Pooling,
        shapes: int,
        pieces_per_word: int,
        freeze_embeddings: bool = False,
        special_ids: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__()
        self.transformer = transformer
        self.pooling: Pooling = pooling
        self.pieces_per_word = pieces_per_word
        self.special_ids = special_ids or {}
        self.dim: int = transformer.config.hidden_size
        self.shapes = nn.Embedding(shapes, self.dim) if shapes else None
        if self.shapes is not None:
            nn.init.normal_(self.shapes.weight, std=0.02)
        if freeze_embeddings:
            transformer.get_input_embeddings().weight.requires_grad_(False)

    def forward(self, words: Words[Tensor], hidden_states: int | Literal["all"] = 0) -> Encoded:
        """Words above the last block, and below each of the last `hidden_states` blocks."""
        if not hidden_states:
            return self.pool(self.hidden(words.pieces, words.piece_mask), words)
        output = self.transformer(input_ids=words.pieces, attention_mask=words.piece_mask, output_hidden_states=True)
        number = len(output.hidden_states) - 1 if hidden_states == "all" else hidden_states
        below = output.hidden_states[-number - 1 : -1]
        encoded = self.pool(output.last_hidden_state, words)
        return encoded._replace(hidden_states=tuple(self._words(h, words) for h in below))

    def hidden(
        self, pieces: Tensor, mask: Tensor, types: Tensor | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """The transformer's vectors of word pieces; `types` tell one text from another, `positions` replace 0, 1, 2, …

        pieces, types, positions [B, P]; mask [B, P], or [B, P, P]: true where the row's piece sees the column's
        -> [B, P, d]
        """
        given = {"token_type_ids": types, "position_ids": positions}
        if mask.ndim == 3:
            lowest = torch.finfo(self.transformer.dtype).min
            mask = torch.zeros_like(mask, dtype=self.transformer.dtype).masked_fill(~mask.bool(), lowest).unsqueeze(1)
        known = {name: value for name, value in given.items() if value is not None}
        vectors: Tensor = self.transformer(input_ids=pieces, attention_mask=mask, **known).last_hidden_state
        return vectors

    def pool(self, hidden: Tensor, words: Words[Tensor]) -> Encoded:
        """Words from their pieces, wherever in `hidden` they are."""
        return Encoded(self._words(hidden, words), hidden[:, 0])

    def _words(self, hidden: Tensor, words: Words[Tensor]) -> Tensor:
        pooled = pool_pieces(hidden, words.first_piece, words.last_piece, self.pooling, self.pieces_per_word)  # eq. 3
        if self.shapes is not None:
            pooled = pooled + self.shapes(words.shapes)
        return pooled * words.present.unsqueeze(-1)  # eq. 4
