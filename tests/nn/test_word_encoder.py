"""Word pieces that see what a mask lets them see, at places of their own: the input layouts that plug-ins need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from spanwise.nn.encoder import WordEncoder
from spanwise.pipeline.torch_pipeline import TorchPipeline

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture(scope="module")
def encoder(make_pipeline: Callable[..., TorchPipeline]) -> WordEncoder:
    encoder = make_pipeline("seq-ner").model.encoder
    assert isinstance(encoder, WordEncoder)
    return encoder


ONE, OTHER = [2, 20, 21, 3], [2, 30, 31, 32, 33, 3]


def seen_by(*sizes: int) -> torch.Tensor:
    """Pieces of texts that stand behind each other in one row, each of which sees its own text alone."""
    text = torch.tensor([number for number, size in enumerate(sizes) for _ in range(size)])
    return (text.unsqueeze(0) == text.unsqueeze(1)).unsqueeze(0)


@torch.no_grad()
def test_texts_in_one_row_that_see_themselves_alone_have_the_vectors_of_texts_on_their_own(
    encoder: WordEncoder,
) -> None:
    places = torch.tensor([[*range(len(ONE)), *range(len(OTHER))]])
    both = encoder.hidden(torch.tensor([ONE + OTHER]), seen_by(len(ONE), len(OTHER)), positions=places)
    for text, found in ((ONE, both[0, : len(ONE)]), (OTHER, both[0, len(ONE) :])):
        pieces = torch.tensor([text])
        torch.testing.assert_close(found, encoder.hidden(pieces, torch.ones_like(pieces))[0], **CLOSE)


@torch.no_grad()
def test_positions_are_counted_from_zero_unless_they_are_given(encoder: WordEncoder) -> None:
    pieces = torch.tensor([OTHER])
    mask, places = torch.ones_like(pieces), torch.arange(len(OTHER)).unsqueeze(0)
    plain = encoder.hidden(pieces, mask)
    torch.testing.assert_close(encoder.hidden(pieces, mask, positions=places), plain, **CLOSE)
    assert (encoder.hidden(pieces, mask, positions=places + 3) - plain).abs().max() > 1e-3


@torch.no_grad()
def test_a_mask_for_all_pieces_is_the_same_as_one_for_each(encoder: WordEncoder) -> None:
    pieces, mask = torch.tensor([OTHER, [*ONE, 0, 0]]), torch.tensor([[1] * 6, [1] * 4 + [0] * 2])
    each = mask.bool().unsqueeze(1).expand(-1, 6, -1)
    found, wanted = encoder.hidden(pieces, each), encoder.hidden(pieces, mask)
    torch.testing.assert_close(found[mask.bool()], wanted[mask.bool()], **CLOSE)


@torch.no_grad()
def test_types_tell_one_text_from_another(encoder: WordEncoder) -> None:
    pieces = torch.tensor([OTHER])
    mask, none = torch.ones_like(pieces), torch.zeros_like(pieces)
    plain = encoder.hidden(pieces, mask)
    torch.testing.assert_close(encoder.hidden(pieces, mask, none), plain, **CLOSE)
    assert (encoder.hidden(pieces, mask, torch.ones_like(none)) - plain).abs().max() > 1e-3
