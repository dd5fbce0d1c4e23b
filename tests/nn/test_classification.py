"""Losses over classes of spans against loops: one softmax over None and the labels, or a sigmoid for each label."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from spanwise.nn.classification import class_count, span_loss

LABELS = 3


class Spans(NamedTuple):
    """Logits of None and the labels [N, 1 + E]; labels and which of them are known [N, E]."""

    logits: Tensor
    labels: Tensor
    annotated: Tensor


@st.composite
def spans(draw: st.DrawFn, most_labels: int) -> Spans:
    """One to five spans with labels among those that are known, scores of up to ±60."""
    count = draw(st.integers(1, 5))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([0.1, 3.0, 60.0]))
    logits = (scale * (2 * torch.rand(count, 1 + LABELS, generator=generator) - 1)).double()
    annotated = torch.rand(count, LABELS, generator=generator) < 0.7
    ranks = torch.rand(count, LABELS, generator=generator).argsort(dim=-1)
    labels = annotated & (ranks < torch.randint(0, most_labels + 1, (count, 1), generator=generator))
    return Spans(logits, labels, annotated)


def test_classes_are_none_and_the_labels_or_the_labels_alone() -> None:
    assert (class_count(3, False), class_count(3, True)) == (4, 3)


@given(spans(most_labels=1))
def test_the_softmax_loss_is_the_mean_of_minus_the_log_of_the_gold_classs_share(rows: Spans) -> None:
    """Among None and the labels that the example was annotated for."""
    wanted = []
    for logits, labels, known in zip(*(part.tolist() for part in rows), strict=True):
        powers = {0: math.exp(logits[0])} | {1 + e: math.exp(logits[1 + e]) for e in range(LABELS) if known[e]}
        gold = 1 + labels.index(True) if any(labels) else 0
        wanted.append(-math.log(powers[gold] / sum(powers.values())))
    found = span_loss(rows.logits, rows.labels, rows.annotated, multi_label=False)
    assert found.item() == pytest.approx(sum(wanted) / len(wanted), rel=1e-6, abs=1e-9)


@given(spans(most_labels=LABELS))
def test_the_sigmoid_loss_is_summed_over_known_labels_and_averaged_over_spans(rows: Spans) -> None:
    total = 0.0
    for logits, labels, known in zip(*(part.tolist() for part in rows), strict=True):
        for label in range(LABELS):
            if known[label]:
                score = logits[1 + label] if labels[label] else -logits[1 + label]
                total += math.log1p(math.exp(-score)) if score > -50 else -score
    found = span_loss(rows.logits[:, 1:], rows.labels, rows.annotated, multi_label=True)
    assert found.item() == pytest.approx(total / len(rows.logits), rel=1e-6, abs=1e-9)


@given(spans(most_labels=1), st.booleans())
def test_the_logit_of_an_unknown_label_has_no_gradient_and_every_other_has_one(rows: Spans, multi_label: bool) -> None:
    logits = torch.tanh(rows.logits)[:, int(multi_label) :].requires_grad_()
    loss = span_loss(logits, rows.labels, rows.annotated, multi_label=multi_label)
    (gradient,) = torch.autograd.grad(loss, logits)
    of_labels = gradient[:, -LABELS:]
    assert (of_labels[~rows.annotated] == 0).all()
    assert (of_labels[rows.annotated] != 0).all()


@pytest.mark.parametrize("multi_label", [False, True])
def test_where_no_label_is_known_only_none_is_left(multi_label: bool) -> None:
    unknown = torch.zeros(2, LABELS, dtype=torch.bool)
    logits = torch.randn(2, class_count(LABELS, multi_label))
    assert span_loss(logits, unknown, unknown, multi_label=multi_label).item() == 0


def test_a_batch_without_spans_has_a_sigmoid_loss_of_zero() -> None:
    none = torch.zeros(0, LABELS)
    assert span_loss(none, none.bool(), none.bool(), multi_label=True).item() == 0
