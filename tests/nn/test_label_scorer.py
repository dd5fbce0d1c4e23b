"""Scores of spans against label vectors."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from spanwise.nn.label_scorer import LabelScorer, LabelVectors, label_loss, prefix_sums, span_means

SPANS = torch.tensor([[0, 0, 1], [0, 1, 4], [1, 2, 5], [1, 0, 5]])


@pytest.fixture
def words() -> Tensor:
    return torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(1))


def test_the_mean_of_a_span_is_that_of_its_words(words: Tensor) -> None:
    wanted = torch.stack([words[row, start:end].mean(0) for row, start, end in SPANS.tolist()])
    torch.testing.assert_close(span_means(prefix_sums(words), SPANS), wanted)


def test_a_label_scores_alike_in_any_order_and_company(words: Tensor) -> None:
    torch.manual_seed(2)
    scorer = LabelScorer(3, 8, 0.0)
    reduced, labels = scorer.reduce(torch.randn(4, 3)), torch.randn(6, 8)
    scores = scorer(reduced, words, SPANS, LabelVectors(labels))
    order = torch.tensor([4, 0, 5])
    torch.testing.assert_close(scorer(reduced, words, SPANS, LabelVectors(labels[order])), scores[:, order])


def test_an_unknown_label_is_neither_right_nor_wrong() -> None:
    logits = torch.tensor([[2.0, -3.0], [0.5, 4.0]])
    labels = torch.tensor([[True, False], [False, False]])
    known = torch.tensor([[True, False], [True, False]])
    losses = [label_loss(logits + torch.tensor([0.0, shift]), labels, known) for shift in (0.0, 9.0)]
    assert losses[0] == losses[1]
    assert label_loss(logits, labels, torch.ones_like(known)) > losses[0]
