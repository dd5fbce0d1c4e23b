"""Word vectors from any Hugging Face encoder: BL-NER section 3.1.1, shared by every model."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor, nn

from spanwise.nn.batch import Batch
from spanwise.nn.pooling import Pooling, pool_pieces


class Encoded(NamedTuple):
    """What an encoder says about a batch."""

    words: Tensor  # [B, T, d]   e_1 … e_n
    sentence: Tensor  # [B, d]      e_0, the vector of the first special token
    levels: tuple[Tensor, ...] = ()  # [B, T, d] each: words below each of the last blocks, as many as were asked for


class WordEncoder(nn.Module):
    """A transformer over word pieces, pooled to words; optionally a learned vector per word shape is added.

    The word shape gives an uncased encoder the capitals that names are made of.
    """

    def __init__(
        self, transformer: Any, *, pooling: Pooling, shapes: int, pieces_per_word: int, freeze_embeddings: bool = False
    ) -> None:
        super().__init__()
        self.transformer = transformer
        self.pooling: Pooling = pooling
        self.pieces_per_word = pieces_per_word
        self.dim: int = transformer.config.hidden_size
        self.shapes = nn.Embedding(shapes, self.dim) if shapes else None
        if self.shapes is not None:
            nn.init.normal_(self.shapes.weight, std=0.02)
        if freeze_embeddings:
            transformer.get_input_embeddings().weight.requires_grad_(False)

    def forward(self, batch: Batch, levels: int = 0) -> Encoded:
        """Words above the last block, and below each of the last `levels` blocks."""
        if not levels:
            return self.pool(self.hidden(batch.pieces, batch.piece_mask), batch)
        output = self.transformer(input_ids=batch.pieces, attention_mask=batch.piece_mask, output_hidden_states=True)
        below = output.hidden_states[-levels - 1 : -1]
        return self.pool(output.last_hidden_state, batch)._replace(levels=tuple(self._words(h, batch) for h in below))

    def hidden(self, pieces: Tensor, mask: Tensor, types: Tensor | None = None) -> Tensor:
        """The transformer's vectors of word pieces; `types` tell one text from another. [B, P] each -> [B, P, d]"""
        kinds = {} if types is None else {"token_type_ids": types}
        output = self.transformer(input_ids=pieces, attention_mask=mask, **kinds)
        vectors: Tensor = output.last_hidden_state
        return vectors

    def pool(self, hidden: Tensor, batch: Batch) -> Encoded:
        """Words from their pieces, wherever in `hidden` the batch says that these are."""
        return Encoded(self._words(hidden, batch), hidden[:, 0])

    def _words(self, hidden: Tensor, batch: Batch) -> Tensor:
        words = pool_pieces(hidden, batch.first_piece, batch.last_piece, self.pooling, self.pieces_per_word)  # eq. 3
        if self.shapes is not None:
            words = words + self.shapes(batch.shapes)
        return words * batch.word_mask.unsqueeze(-1)  # eq. 4
