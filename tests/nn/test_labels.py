"""Texts of labels as the encoder reads them: each as if it were alone, however many are read together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from spanwise.nn import labels
from spanwise.nn.labels import LabelTokens, encode_texts, masked_mean
from spanwise.pipeline.collate import label_texts
from spanwise.pipeline.torch_pipeline import TorchPipeline

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}
TEXTS = ["towns", "people, by name or by office", "a", "companies, clubs and offices", "it rained", "towns, countries"]


@pytest.fixture(scope="module")
def pipeline(make_pipeline: Callable[..., TorchPipeline]) -> TorchPipeline:
    return make_pipeline("lear")


@torch.no_grad()
@pytest.mark.parametrize("together", [1, 2, 8])
def test_every_text_is_encoded_as_if_it_were_alone(
    pipeline: TorchPipeline, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    """Padding and the order of the texts have no influence."""
    monkeypatch.setattr(labels, "TEXTS_PER_BATCH", together)
    texts = label_texts(pipeline.pieces, 96, TEXTS).map(torch.from_numpy)
    encoder, tokenizer = pipeline.model.encoder, pipeline.tokenizer
    tokens = encode_texts(encoder, texts)
    assert tokens.vectors.shape == (*texts.pieces.shape, encoder.dim)
    for vectors, content, text in zip(tokens.vectors, tokens.content, TEXTS, strict=True):
        pieces = torch.tensor([tokenizer(text)["input_ids"]])
        alone = encoder.transformer(input_ids=pieces).last_hidden_state[0]
        torch.testing.assert_close(vectors[: len(alone)], alone, **CLOSE)
        assert content.nonzero().squeeze(1).tolist() == list(range(1, len(alone) - 1))


@torch.no_grad()
def test_texts_of_similar_length_are_encoded_together(pipeline: TorchPipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "TEXTS_PER_BATCH", 2)
    encoder: Any = pipeline.model.encoder
    hidden, read = encoder.hidden, []

    def watched(pieces: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        read.append(pieces.numel())
        return hidden(pieces, mask)

    monkeypatch.setattr(encoder, "hidden", watched)
    texts = label_texts(pipeline.pieces, 96, TEXTS).map(torch.from_numpy)
    encode_texts(encoder, texts)
    lengths = sorted(texts.mask.sum(-1).tolist())
    assert read == [2 * lengths[1], 2 * lengths[3], 2 * lengths[5]]


def test_means_are_taken_over_the_tokens_that_count() -> None:
    vectors, content = torch.randn(3, 5, 2), torch.rand(3, 5) < 0.5
    content[:, 2] = True
    for row, mean in enumerate(masked_mean(vectors, content)):
        own = [vectors[row, token] for token in range(5) if content[row, token]]
        torch.testing.assert_close(mean, sum(own, torch.zeros(2)) / len(own))
    torch.testing.assert_close(LabelTokens(vectors, content).mean(), masked_mean(vectors, content))


def test_one_vector_per_label_is_one_token_that_counts() -> None:
    vectors = torch.randn(3, 2)
    tokens = LabelTokens.single(vectors)
    assert torch.equal(tokens.vectors[:, 0], vectors)
    assert tokens.content.tolist() == [[True]] * 3
