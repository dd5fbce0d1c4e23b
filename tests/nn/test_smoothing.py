"""Boundary smoothing against loops over gold spans and their neighbors; targets are always probabilities."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import smoothing_oracle as paper
from spanwise.nn.smoothing import Smoothing, smoothed_loss, smoothed_targets

LABELS = 3
SHARES = st.floats(0, 0.99)
Span = tuple[int, int, int]  # sentence, start, end


class Sentences(NamedTuple):
    """Their scored words with the context before them, their gold, and how it is spread over spans of limited width."""

    lengths: list[int]
    gold: list[paper.Gold]  # as if the first scored word were number 0
    widest: int
    smoothing: Smoothing
    context: list[int] | None = None

    def before(self, row: int) -> int:
        return self.context[row] if self.context else 0

    @property
    def spans(self) -> list[Span]:
        """All that can be, in words of the example."""
        return [
            (row, start + self.before(row), end + self.before(row))
            for row, length in enumerate(self.lengths)
            for start, end in paper.possible(length, self.widest)
        ]

    def shares(self, spans: list[Span] | None = None) -> Tensor:
        """What these spans, or all that can be, are given of each label."""
        rows = [
            (row, start + self.before(row), end + self.before(row), label)
            for row, gold in enumerate(self.gold)
            for start, end, label in sorted(gold)
        ]
        place = torch.arange(max(self.lengths) + max(self.context or [0]) + 1)
        numbered = enumerate(self.lengths)
        scored = [(place >= self.before(row)) & (place < self.before(row) + length) for row, length in numbered]
        return smoothed_targets(
            torch.tensor(self.spans if spans is None else spans, dtype=torch.long).view(-1, 3),
            torch.tensor(rows, dtype=torch.long).view(-1, 4),
            torch.stack(scored),
            LABELS,
            self.widest,
            self.smoothing,
        )

    def targets(self, spans: list[Span] | None = None) -> Tensor:
        """The probability of None and of each label that the loss asks for: its gradient is softmax - target."""
        shares = self.shares(spans)
        logits = torch.zeros(len(shares), 1 + LABELS, requires_grad=True)
        everything = torch.ones(len(shares), LABELS, dtype=torch.bool)
        loss = smoothed_loss(logits, shares, torch.ones(len(shares)), everything, multi_label=False)
        (gradient,) = torch.autograd.grad(loss, logits)
        return 1 / (1 + LABELS) - gradient

    def looped(self, what: str) -> dict[Span, list[float]]:
        found = {}
        for row, (length, gold) in enumerate(zip(self.lengths, self.gold, strict=True)):
            parts = getattr(paper, what)(paper.possible(length, self.widest), gold, LABELS, *self.smoothing)
            shift = self.before(row)
            found.update({(row, start + shift, end + shift): part for (start, end), part in parts.items()})
        return found


@st.composite
def sentences(draw: st.DrawFn, shares: st.SearchStrategy[float] = SHARES, most: int = 6) -> Sentences:
    """One to three sentences; gold of any width, nested, across each other, and with several labels on one span."""
    lengths = draw(st.lists(st.integers(1, 8), min_size=1, max_size=3))
    context = [draw(st.integers(0, 2)) for _ in lengths]
    gold = []
    for length in lengths:
        entity = st.tuples(st.sampled_from(paper.possible(length, length)), st.integers(0, LABELS - 1))
        gold.append({(*span, label) for span, label in draw(st.lists(entity, max_size=most))})
    smoothing = Smoothing(draw(shares), draw(st.integers(1, 4)))
    return Sentences(lengths, gold, draw(st.integers(1, 9)), smoothing, context)


@given(sentences(), st.data())
def test_targets_are_those_of_the_loops_whichever_spans_are_asked_for(case: Sentences, data: st.DataObject) -> None:
    """In any order, some left out and some twice, as in training."""
    spans = data.draw(st.lists(st.sampled_from(case.spans), max_size=30))
    for found, what, columns in ((case.shares, "shares", LABELS), (case.targets, "targets", 1 + LABELS)):
        looped = case.looped(what)
        wanted = torch.tensor([looped[span] for span in spans]).view(-1, columns)
        torch.testing.assert_close(found(spans), wanted, atol=1e-6, rtol=1e-5)


@given(sentences())
def test_every_target_is_a_probability(case: Sentences) -> None:
    targets = case.targets()
    assert targets.shape == (len(case.spans), 1 + LABELS)
    assert targets.min() >= -1e-6
    torch.testing.assert_close(targets.sum(-1), torch.ones(len(targets)))


@given(sentences(shares=st.just(0.0)))
def test_without_smoothing_targets_are_one_hot_and_labels_on_one_span_share_it(case: Sentences) -> None:
    for (row, start, end), target in zip(case.spans, case.targets().tolist(), strict=True):
        own = (start - case.before(row), end - case.before(row))
        labels = {label for *other, label in case.gold[row] if tuple(other) == own}
        wanted = [float(label in labels) / len(labels) for label in range(LABELS)] if labels else [0.0] * LABELS
        assert target == pytest.approx([0.0 if labels else 1.0, *wanted], abs=1e-6)


@given(sentences(most=1))
def test_one_gold_span_has_all_its_probability_over_the_spans_of_its_sentence(case: Sentences) -> None:
    mass = torch.zeros(len(case.lengths), LABELS).index_add(0, torch.tensor(case.spans)[:, 0], case.shares())
    for row, gold in enumerate(case.gold):
        fits = [(start, end, label) for start, end, label in gold if end - start <= case.widest]
        if len(fits) == len(gold):
            wanted = [float(any(label == own for *_, own in fits)) for label in range(LABELS)]
            assert mass[row].tolist() == pytest.approx(wanted, abs=1e-5)


@given(sentences())
def test_probability_is_lost_only_where_a_span_would_have_more_than_one(case: Sentences) -> None:
    wanted = sum(min(sum(share), 1.0) for share in case.looped("shares").values())
    assert case.targets()[:, 1:].sum().item() == pytest.approx(wanted, abs=1e-4)


def test_an_entity_inside_a_sentence_gives_a_fourth_of_the_share_to_each_neighbor() -> None:
    case = Sentences([6], [{(2, 4, 1)}], 6, Smoothing(0.2))
    targets = case.targets()
    found = {span[1:]: target for span, target in zip(case.spans, targets.tolist(), strict=True)}
    assert found[2, 4] == pytest.approx([0.2, 0.0, 0.8, 0.0], abs=1e-6)
    for neighbor in ((1, 4), (3, 4), (2, 3), (2, 5)):
        assert found[neighbor] == pytest.approx([0.95, 0.0, 0.05, 0.0], abs=1e-6)
    assert sum(target[0] > 0.999 for target in targets.tolist()) == len(targets) - 5


@pytest.mark.parametrize("context", [0, 2])
@pytest.mark.parametrize(
    ("entity", "widest", "kept"),
    [
        ((0, 1), 6, 0.95),  # can only grow to the right
        ((0, 6), 6, 0.9),  # can only shrink
        ((2, 3), 6, 0.9),  # cannot shrink
        ((2, 4), 2, 0.9),  # cannot grow
        ((2, 3), 1, 1.0),
    ],
)
def test_what_would_fall_on_impossible_spans_stays_with_the_entity(
    entity: paper.Span, widest: int, kept: float, context: int
) -> None:
    """Also where words of context stand beside it: they are part of no span."""
    case = Sentences([6], [{(*entity, 0)}], widest, Smoothing(0.2), [context])
    share = case.shares([(0, entity[0] + context, entity[1] + context)])
    assert share[0].tolist() == pytest.approx([kept, 0.0, 0.0])


def test_a_larger_distance_gives_each_distance_as_much() -> None:
    case = Sentences([9], [{(3, 6, 0)}], 9, Smoothing(0.3, distance=3))
    shares = case.shares()[:, 0]
    for distance in (1, 2, 3):
        own = [(0, *span) for span in paper.neighbors((3, 6), distance) if (0, *span) in case.spans]
        rows = [case.spans.index(span) for span in own]
        assert shares[rows].tolist() == pytest.approx([0.1 / (4 * distance)] * len(rows))


def test_a_batch_without_gold_or_without_spans_has_targets() -> None:
    nothing = Sentences([3, 2], [set(), set()], 3, Smoothing(0.1)).targets()
    torch.testing.assert_close(nothing, torch.tensor([[1.0, 0.0, 0.0, 0.0]] * 9))
    assert Sentences([3], [{(0, 1, 0)}], 3, Smoothing(0.1)).shares([]).shape == (0, LABELS)


class Rows(NamedTuple):
    """Spans of a loss: logits of None and the labels or of the labels alone, what is given of each label, and so on."""

    logits: list[list[float]]
    shares: list[list[float]]
    weights: list[float]
    annotated: list[list[bool]]

    def loss(self, *, multi_label: bool) -> float:
        logits = torch.tensor(self.logits)[:, int(multi_label) :]
        parts = (torch.tensor(self.shares), torch.tensor(self.weights), torch.tensor(self.annotated))
        return smoothed_loss(logits, *parts, multi_label=multi_label).item()


@st.composite
def loss_rows(draw: st.DrawFn) -> Rows:
    count = draw(st.integers(1, 4))

    def table(of: st.SearchStrategy, columns: int) -> list[list]:  # type: ignore[type-arg]
        row = st.lists(of, min_size=columns, max_size=columns)
        return draw(st.lists(row, min_size=count, max_size=count))

    annotated = table(st.booleans(), LABELS)
    shares = table(st.floats(0, 1.5, width=32), LABELS)
    held = [[s * known for s, known in zip(*row, strict=True)] for row in zip(shares, annotated, strict=True)]
    weights = draw(st.lists(st.floats(0, 9, width=32), min_size=count, max_size=count))
    return Rows(table(st.floats(-60, 60, width=32), 1 + LABELS), held, weights, annotated)


def log_softmax(scores: list[float]) -> list[float]:
    top = max(scores)
    return [score - top - math.log(sum(math.exp(other - top) for other in scores)) for score in scores]


def log_sigmoid(score: float) -> float:
    return -math.log1p(math.exp(-score)) if score > 0 else score - math.log1p(math.exp(score))


@given(loss_rows())
def test_the_softmax_loss_is_cross_entropy_over_none_and_the_labels_that_are_known(rows: Rows) -> None:
    wanted = 0.0
    for logits, shares, weight, known in zip(*rows, strict=True):
        own = [share / max(sum(shares), 1.0) for share in shares]
        classes = [logits[0], *(score for score, is_known in zip(logits[1:], known, strict=True) if is_known)]
        target = [1 - sum(own), *(share for share, is_known in zip(own, known, strict=True) if is_known)]
        wanted -= weight * sum(t * p for t, p in zip(target, log_softmax(classes), strict=True))
    assert rows.loss(multi_label=False) == pytest.approx(wanted, rel=1e-4, abs=1e-3)


@given(loss_rows())
def test_the_sigmoid_loss_is_binary_cross_entropy_summed_over_the_labels_that_are_known(rows: Rows) -> None:
    wanted = 0.0
    for logits, shares, weight, known in zip(*rows, strict=True):
        for score, share, is_known in zip(logits[1:], shares, known, strict=True):
            target = min(share, 1.0)
            wanted -= is_known * weight * (target * log_sigmoid(score) + (1 - target) * log_sigmoid(-score))
    assert rows.loss(multi_label=True) == pytest.approx(wanted, rel=1e-4, abs=1e-3)
