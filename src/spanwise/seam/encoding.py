"""What an encoder gives to a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from torch import Tensor

from spanwise.seam.batch import Words

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Encoded(NamedTuple):
    """Vectors of a batch."""

    words: Tensor  # [B, T, d]   e_1 … e_n
    sentence: Tensor  # [B, d]      e_0, the vector of the first special token
    hidden_states: tuple[Tensor, ...] = ()  # [B, T, d] each: words below each of the last blocks, as many as asked for


class Encoder(Protocol):
    """A transformer over word pieces with a pooling to words."""

    transformer: PreTrainedModel
    dim: int
    special_ids: Mapping[str, int]  # of the special tokens that the model's traits ask for

    def __call__(self, words: Words[Tensor], hidden_states: int | Literal["all"] = 0) -> Encoded: ...

    def hidden(
        self, pieces: Tensor, mask: Tensor, types: Tensor | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """Vectors of word pieces [B, P]; the mask is [B, P], or [B, P, P] where each piece sees its own."""

    def pool(self, hidden: Tensor, words: Words[Tensor]) -> Encoded:
        """Words from their pieces, wherever in `hidden` they are."""
