"""The encoder interface and its output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from torch import Tensor

from spanwise.seam.batch import Words

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Encoded(NamedTuple):
    """Encoder output of a batch."""

    words: Tensor  # [B, T, d]   e_1 … e_n
    sentence: Tensor  # [B, d]      e_0, the vector of the first special token
    hidden_states: tuple[Tensor, ...] = ()  # [B, T, d] each: words before each of the requested last blocks


class Encoder(Protocol):
    """A transformer over word pieces, pooled to words."""

    transformer: PreTrainedModel
    dim: int
    special_ids: Mapping[str, int]  # ids of the special tokens in the model's traits

    def __call__(self, words: Words[Tensor], hidden_states: int | Literal["all"] = 0) -> Encoded: ...

    def hidden(
        self, pieces: Tensor, mask: Tensor, types: Tensor | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """Vectors of word pieces [B, P]; the mask is [B, P], or [B, P, P] with a separate mask per piece."""

    def pool(self, hidden: Tensor, words: Words[Tensor]) -> Encoded:
        """Pool word vectors from their pieces, which may be at any positions of `hidden`."""
