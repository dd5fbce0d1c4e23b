"""Attention: over the words of spans, and in four variants over what a mask lets through. Always a number."""

from __future__ import annotations

import math
from typing import Any, get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from spanwise.errors import RecipeError
from spanwise.nn import attention
from spanwise.nn.attention import ContextualAttention, Variant, span_attention

VARIANTS = get_args(Variant)


def looped(words: Tensor, scores: Tensor, start: int, end: int) -> Tensor:
    """Σ α_k·x_k with α = softmax of the scores within the span, in double precision."""
    exps = [math.exp(score) for score in scores[start:end].tolist()]
    total = torch.zeros(words.shape[-1], dtype=torch.float64)
    for share, word in zip(exps, words[start:end].double(), strict=True):
        total = total + share / sum(exps) * word
    return total


@st.composite
def grouped_spans(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Spans of three examples of seven words, grouped by example; some examples may have none."""
    bounds = st.tuples(st.integers(0, 2), st.integers(0, 6), st.integers(1, 7)).filter(lambda span: span[1] < span[2])
    return sorted(draw(st.lists(bounds, max_size=12)), key=lambda span: span[0])


@given(grouped_spans(), st.integers(0, 2**32), st.sampled_from([0.1, 5.0, 60.0]))
def test_span_attention_is_the_loop_over_a_spans_words(
    spans: list[tuple[int, int, int]], seed: int, scale: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    words, scores = torch.randn(3, 7, 4, generator=generator), scale * torch.randn(3, 7, generator=generator)
    found = span_attention(words, scores, torch.tensor(spans).view(-1, 3))
    assert found.shape == (len(spans), 4)
    for row, (example, start, end) in zip(found, spans, strict=True):
        wanted = looped(words[example], scores[example], start, end)
        torch.testing.assert_close(row.double(), wanted, atol=1e-5, rtol=1e-5)


def test_spans_of_low_scores_are_not_drowned_by_high_ones_elsewhere() -> None:
    scores = torch.tensor([[60.0, -60.0, -60.0, 60.0, -59.0]], requires_grad=True)
    words = torch.eye(5).unsqueeze(0)  # so that a span's vector is its weights
    found = span_attention(words, scores, torch.tensor([[0, 1, 3], [0, 0, 5], [0, 2, 3], [0, 1, 2]]))
    wanted = torch.tensor([[0, 0.5, 0.5, 0, 0], [0.5, 0, 0, 0.5, 0], [0, 0, 1, 0, 0], [0, 1, 0, 0, 0]])
    torch.testing.assert_close(found, wanted)
    found.square().sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


@pytest.fixture(params=VARIANTS)
def attend(request: pytest.FixtureRequest) -> ContextualAttention:
    torch.manual_seed(0)
    return ContextualAttention(request.param, 6, 4, heads=2, hidden=5, dropout=0.0)


def test_a_query_that_may_see_nothing_takes_nothing(attend: ContextualAttention) -> None:
    query, keys = torch.randn(2, 3, 6, requires_grad=True), torch.randn(2, 5, 4, requires_grad=True)
    mask = torch.ones(2, 3, 5, dtype=torch.bool)
    mask[0, 1] = False
    found = attend(query, keys, mask)
    assert (found[0, 1] == 0).all()
    assert (found[0, 0] != 0).any()
    found.sum().backward()
    for gradient in (query.grad, keys.grad, *(p.grad for p in attend.parameters())):
        assert gradient is not None
        assert gradient.isfinite().all()


def test_what_may_not_be_seen_does_not_matter(attend: ContextualAttention) -> None:
    query, keys = torch.randn(1, 3, 6), torch.randn(1, 5, 4)
    mask = torch.tensor([[[True, False, True, True, False]]])
    odd = keys.masked_fill(~mask.transpose(1, 2), 1e4)
    torch.testing.assert_close(attend(query, keys, mask), attend(query, odd, mask))
    torch.testing.assert_close(attend(query, keys, mask), attend(query, keys[:, mask[0, 0]], mask[..., mask[0, 0]]))


def test_one_mask_for_all_queries_is_the_same_as_one_for_each(attend: ContextualAttention) -> None:
    query, keys = torch.randn(1, 3, 6), torch.randn(1, 5, 4)
    mask = torch.tensor([[[True, False, True, True, False]]])
    torch.testing.assert_close(attend(query, keys, mask), attend(query, keys, mask.expand(1, 3, 5)))


@pytest.mark.parametrize("cells", [1, 40, 55])
def test_additive_attention_is_the_same_in_blocks(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    additive = ContextualAttention("additive", 6, 4, heads=2, hidden=5, dropout=0.0)
    query, keys, mask = torch.randn(2, 7, 6), torch.randn(2, 5, 4), torch.ones(2, 1, 5, dtype=torch.bool)
    whole = additive(query, keys, mask)
    largest: list[int] = []
    tanh = torch.tanh

    def watched(inner: Tensor) -> Tensor:
        largest.append(inner.numel())
        return tanh(inner)

    monkeypatch.setattr(attention, "CELLS", cells)
    monkeypatch.setattr(torch, "tanh", watched)
    torch.testing.assert_close(additive(query, keys, mask), whole)
    assert max(largest) <= max(cells, 2 * 5 * 5)  # one query of each example at least


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_queries_give_no_vectors(variant: Any) -> None:
    attend = ContextualAttention(variant, 6, 4, heads=2, hidden=5, dropout=0.0)
    found = attend(torch.zeros(2, 0, 6), torch.zeros(2, 5, 4), torch.ones(2, 1, 5, dtype=torch.bool))
    assert found.shape == (2, 0, 4)


def test_heads_that_do_not_divide_the_encoder_are_refused() -> None:
    with pytest.raises(RecipeError, match="3 heads do not divide the encoder's 4 units"):
        ContextualAttention("multi-head", 6, 4, heads=3, hidden=5, dropout=0.0)
