"""Pooling: the sparse table and the look-ups give what loops over each stretch give, and so do their gradients."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from spanwise.nn.pooling import Pooling, pool_pieces, span_max


def brute_max(vectors: Tensor, row: Tensor, first: Tensor, last: Tensor) -> Tensor:
    stretches = [vectors[r, f : e + 1] for r, f, e in zip(row.tolist(), first.tolist(), last.tolist(), strict=True)]
    return torch.stack([stretch.max(dim=0).values for stretch in stretches])


def every_stretch(size: int, length: int, widest: int) -> tuple[Tensor, Tensor, Tensor]:
    rows = [(b, f, e) for b in range(size) for f in range(length) for e in range(f, min(f + widest, length))]
    row, first, last = torch.tensor(rows).unbind(-1)
    return row, first, last


@given(st.integers(1, 3), st.integers(1, 40), st.integers(1, 45), st.integers(0, 2**32))
def test_span_max_is_the_maximum_over_every_stretch(size: int, length: int, widest: int, seed: int) -> None:
    vectors = torch.randn(size, length, 3, generator=torch.Generator().manual_seed(seed))
    row, first, last = every_stretch(size, length, widest)
    assert torch.equal(span_max(vectors, row, first, last, widest), brute_max(vectors, row, first, last))


@given(st.integers(1, 3), st.integers(1, 20), st.integers(1, 20), st.integers(0, 2**32))
def test_span_max_sends_the_gradient_to_the_maxima(size: int, length: int, widest: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(size, length, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    row, first, last = every_stretch(size, length, widest)
    weight = torch.randn(len(row), 3, generator=generator, dtype=torch.float64)
    (found,) = torch.autograd.grad((span_max(vectors, row, first, last, widest) * weight).sum(), vectors)
    (wanted,) = torch.autograd.grad((brute_max(vectors, row, first, last) * weight).sum(), vectors)
    torch.testing.assert_close(found, wanted)


def test_span_max_takes_stretches_in_any_order_and_none_at_all() -> None:
    vectors = torch.arange(12.0).view(1, 6, 2)
    row = torch.zeros(3, dtype=torch.long)
    first, last = torch.tensor([4, 0, 4]), torch.tensor([5, 5, 4])
    assert span_max(vectors, row, first, last, 6)[:, 0].tolist() == [10.0, 10.0, 8.0]
    none = torch.zeros(0, dtype=torch.long)
    assert span_max(vectors, none, none, none, 6).shape == (0, 2)


def test_span_max_never_looks_at_another_example() -> None:
    vectors = torch.stack((torch.zeros(5, 1), torch.full((5, 1), 9.0), torch.zeros(5, 1)))
    row, first, last = every_stretch(3, 5, 5)
    pooled = span_max(vectors, row, first, last, 5).squeeze(-1)
    assert pooled.tolist() == [9.0 if r == 1 else 0.0 for r in row.tolist()]


def plain_pool(pieces: Tensor, how: Pooling) -> Tensor:
    if how == "first":
        return pieces[0]
    return pieces.max(dim=0).values if how == "max" else sum(pieces, torch.zeros(())) / len(pieces)


@st.composite
def words_in_pieces(draw: st.DrawFn) -> tuple[list[list[int]], int]:
    """How many pieces each word of each sentence takes, and a seed."""
    sentence = st.lists(st.integers(1, 16), min_size=1, max_size=12)
    return draw(st.lists(sentence, min_size=1, max_size=4)), draw(st.integers(0, 2**32))


@pytest.mark.parametrize("how", ["max", "first", "mean"])
@given(case=words_in_pieces())
def test_words_are_pooled_from_their_own_pieces(how: Pooling, case: tuple[list[list[int]], int]) -> None:
    counts, seed = case
    longest, most = max(map(len, counts)), max(map(sum, counts)) + 2
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(len(counts), most, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    first = torch.zeros(len(counts), longest, dtype=torch.long)
    last = torch.zeros_like(first)
    wanted = torch.zeros(len(counts), longest, 4, dtype=torch.float64)
    for b, sentence in enumerate(counts):
        at = 1  # behind the special token
        for t, count in enumerate(sentence):
            first[b, t], last[b, t] = at, at + count - 1
            at += count
    for b in range(len(counts)):
        for t in range(longest):
            wanted[b, t] = plain_pool(hidden[b, first[b, t] : last[b, t] + 1], how)
    pooled = pool_pieces(hidden, first, last, how, widest=16)
    torch.testing.assert_close(pooled, wanted)
    weight = torch.randn(pooled.shape, generator=generator, dtype=torch.float64)
    gradients = [torch.autograd.grad((p * weight).sum(), hidden, retain_graph=True)[0] for p in (pooled, wanted)]
    torch.testing.assert_close(*gradients)
