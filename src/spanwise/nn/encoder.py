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
    """A transformer over word pieces, pooled to words, plus an optional learned vector per word shape.

    The word shape tells an uncased encoder about capital letters, which often mark names.
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
        """Word vectors after the last block, and before each of the last `hidden_states` blocks."""
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
        """Vectors of word pieces. `types` are token type ids; `positions` replace the default 0, 1, 2, …

        pieces, types, positions [B, P]; mask [B, P], or [B, P, P]: true where the row's piece attends to the column's
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
        """Pool word vectors from their pieces, which may be at any positions of `hidden`."""
        return Encoded(self._words(hidden, words), hidden[:, 0])

    def _words(self, hidden: Tensor, words: Words[Tensor]) -> Tensor:
        pooled = pool_pieces(hidden, words.first_piece, words.last_piece, self.pooling, self.pieces_per_word)  # eq. 3
        if self.shapes is not None:
            pooled = pooled + self.shapes(words.shapes)
        return pooled * words.present.unsqueeze(-1)  # eq. 4
