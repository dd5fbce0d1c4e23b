"""The CRF's likelihood: its sum over chains is that of an enumeration of all chains. Decoding: see tests/decoding."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from spanwise.nn.crf import CRF


def random_crf(tags: int, seed: int) -> CRF:
    generator = torch.Generator().manual_seed(seed)
    crf = CRF(tags).double()
    for parameter in crf.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return crf


def chain_score(crf: CRF, emissions: Tensor, chain: tuple[int, ...]) -> Tensor:
    score = crf.start[chain[0]] + crf.end[chain[-1]]
    for t, tag in enumerate(chain):
        score = score + emissions[t, tag]
        if t:
            score = score + crf.transitions[chain[t - 1], tag]
    return score


def all_chains(crf: CRF, emissions: Tensor) -> tuple[list[tuple[int, ...]], Tensor]:
    """Every chain of tags over emissions [T, C], and its score."""
    chains = list(product(range(emissions.shape[1]), repeat=len(emissions)))
    return chains, torch.stack([chain_score(crf, emissions, chain) for chain in chains])


Case = tuple[CRF, Tensor, Tensor, list[int]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A random CRF with emissions of sentences of different lengths, padded with numbers that must not matter."""
    tags, seed = draw(st.integers(1, 4)), draw(st.integers(0, 2**32))
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    generator = torch.Generator().manual_seed(seed)
    emissions = 2 * torch.randn(len(lengths), max(lengths), tags, generator=generator, dtype=torch.float64)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return random_crf(tags, seed), emissions.masked_fill(~mask.unsqueeze(-1), 50.0), mask, lengths


@given(cases(), st.data())
def test_likelihood_is_the_chains_share_of_all_chains(case: Case, data: st.DataObject) -> None:
    crf, emissions, mask, lengths = case
    tags = torch.zeros_like(mask, dtype=torch.long)
    wanted = []
    for b, length in enumerate(lengths):
        chains, scores = all_chains(crf, emissions[b, :length])
        chosen = data.draw(st.integers(0, len(chains) - 1))
        tags[b, :length] = torch.tensor(chains[chosen])
        wanted.append(-torch.log(scores.exp()[chosen] / scores.exp().sum()))
    found = crf.negative_log_likelihood(emissions, tags, mask)
    torch.testing.assert_close(found, torch.stack(wanted), atol=1e-5, rtol=1e-5)


@settings(max_examples=40)
@given(cases())
def test_gradients_of_the_likelihood_are_those_of_the_enumeration(case: Case) -> None:
    crf, emissions, mask, lengths = case
    emissions = emissions.clone().requires_grad_()
    tags = torch.zeros_like(mask, dtype=torch.long)
    found = torch.autograd.grad(
        crf.negative_log_likelihood(emissions, tags, mask).sum(), [*crf.parameters(), emissions], allow_unused=True
    )
    total = torch.zeros((), dtype=torch.float64)
    for b, length in enumerate(lengths):
        scores = all_chains(crf, emissions[b, :length])[1]
        total = total + torch.logsumexp(scores, 0) - scores[0]
    wanted = torch.autograd.grad(total, [*crf.parameters(), emissions], allow_unused=True)
    for mine, brute in zip(found, wanted, strict=True):
        brute = torch.zeros_like(mine) if brute is None else brute
        torch.testing.assert_close(mine, brute, atol=1e-5, rtol=1e-5)


def test_scores_of_hundreds_do_not_overflow() -> None:
    crf = CRF(3)
    emissions = torch.tensor([[[300.0, -300.0, 0.0], [-300.0, 300.0, 0.0]] * 30], requires_grad=True)
    mask = torch.ones(1, 60, dtype=torch.bool)
    loss = crf.negative_log_likelihood(emissions, torch.tensor([[0, 1] * 30]), mask)
    assert loss.item() == pytest.approx(0, abs=1e-2)
    loss.sum().backward()
    assert emissions.grad is not None
    assert emissions.grad.isfinite().all()


def test_a_row_without_words_adds_nothing_to_the_loss() -> None:
    crf = random_crf(3, seed=5)
    mask = torch.tensor([[True, True], [False, False]])
    loss = crf.negative_log_likelihood(torch.randn(2, 2, 3).double(), torch.zeros(2, 2, dtype=torch.long), mask)
    assert loss[1].item() == 0
