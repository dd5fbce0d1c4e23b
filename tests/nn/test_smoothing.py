"""Boundary smoothing against loops over gold spans and their neighbours: whatever the gold, a probability."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import smoothing_oracle as paper
from spanwise.nn.batch import Batch
from spanwise.nn.smoothing import Smoothing, smoothed_targets

LABELS = 3
SHARES = st.floats(0, 0.99)


class Sentences(NamedTuple):
    """Their lengths and gold, and how gold is spread over spans of at most `widest` words."""

    lengths: list[int]
    gold: list[paper.Gold]
    widest: int
    smoothing: Smoothing

    @property
    def spans(self) -> list[tuple[int, int, int]]:
        lengths = enumerate(self.lengths)
        return [(row, *span) for row, length in lengths for span in paper.possible(length, self.widest)]

    def targets(self, spans: list[tuple[int, int, int]] | None = None) -> Tensor:
        """Of these spans, or of all that can be."""
        rows = [(row, *entity) for row, gold in enumerate(self.gold) for entity in sorted(gold)]
        unused: Any = torch.empty(0)
        batch = Batch(
            *[unused] * 4,
            word_mask=torch.arange(max(self.lengths)) < torch.tensor(self.lengths).unsqueeze(1),
            shapes=unused,
            spans=torch.tensor(self.spans if spans is None else spans, dtype=torch.long).view(-1, 3),
            span_labels=unused,
            pairs=unused,
            pair_labels=unused,
            gold=torch.tensor(rows, dtype=torch.long).view(-1, 4),
            gold_flat=unused,
        )
        return smoothed_targets(batch, LABELS, self.widest, self.smoothing)

    def looped(self) -> dict[tuple[int, int, int], list[float]]:
        found = {}
        for row, (length, gold) in enumerate(zip(self.lengths, self.gold, strict=True)):
            targets = paper.targets(paper.possible(length, self.widest), gold, LABELS, *self.smoothing)
            found.update({(row, *span): target for span, target in targets.items()})
        return found


@st.composite
def sentences(draw: st.DrawFn, shares: st.SearchStrategy[float] = SHARES, most: int = 6) -> Sentences:
    """One to three sentences; gold of any width, nested, across each other, and with several labels on one span."""
    lengths = draw(st.lists(st.integers(1, 8), min_size=1, max_size=3))
    gold = []
    for length in lengths:
        entity = st.tuples(st.sampled_from(paper.possible(length, length)), st.integers(0, LABELS - 1))
        gold.append({(*span, label) for span, label in draw(st.lists(entity, max_size=most))})
    smoothing = Smoothing(draw(shares), draw(st.integers(1, 4)))
    return Sentences(lengths, gold, draw(st.integers(1, 9)), smoothing)


@given(sentences(), st.data())
def test_targets_are_those_of_the_loops_whichever_spans_are_asked_for(case: Sentences, data: st.DataObject) -> None:
    """In any order, some left out and some twice, as in training."""
    spans = data.draw(st.lists(st.sampled_from(case.spans), max_size=30))
    looped = case.looped()
    wanted = torch.tensor([looped[span] for span in spans]).view(-1, 1 + LABELS)
    torch.testing.assert_close(case.targets(spans), wanted, atol=1e-6, rtol=1e-5)


@given(sentences())
def test_every_row_is_a_probability(case: Sentences) -> None:
    targets = case.targets()
    assert targets.shape == (len(case.spans), 1 + LABELS)
    assert targets.min() >= -1e-6
    torch.testing.assert_close(targets.sum(-1), torch.ones(len(targets)))


@given(sentences(shares=st.just(0.0)))
def test_without_a_share_targets_are_one_hot_and_labels_on_one_span_halve_it(case: Sentences) -> None:
    for (row, *span), target in zip(case.spans, case.targets().tolist(), strict=True):
        labels = {label for *other, label in case.gold[row] if other == span}
        wanted = [float(label in labels) / len(labels) for label in range(LABELS)] if labels else [0.0] * LABELS
        assert target == pytest.approx([0.0 if labels else 1.0, *wanted], abs=1e-6)


@given(sentences(most=1))
def test_one_gold_span_has_all_its_probability_over_the_spans_of_its_sentence(case: Sentences) -> None:
    mass = torch.zeros(len(case.lengths), LABELS).index_add(0, torch.tensor(case.spans)[:, 0], case.targets()[:, 1:])
    for row, gold in enumerate(case.gold):
        fits = [(start, end, label) for start, end, label in gold if end - start <= case.widest]
        if len(fits) == len(gold):
            wanted = [float(any(label == own for *_, own in fits)) for label in range(LABELS)]
            assert mass[row].tolist() == pytest.approx(wanted, abs=1e-5)


@given(sentences())
def test_probability_is_lost_only_where_a_span_would_have_more_than_one(case: Sentences) -> None:
    wanted = 0.0
    for length, gold in zip(case.lengths, case.gold, strict=True):
        shares = paper.shares(paper.possible(length, case.widest), gold, LABELS, *case.smoothing)
        wanted += sum(min(sum(share), 1.0) for share in shares.values())
    assert case.targets()[:, 1:].sum().item() == pytest.approx(wanted, abs=1e-4)


def test_an_entity_inside_a_sentence_gives_a_fourth_of_the_share_to_each_neighbour() -> None:
    case = Sentences([6], [{(2, 4, 1)}], 6, Smoothing(0.2))
    targets = case.targets()
    found = {span[1:]: target for span, target in zip(case.spans, targets.tolist(), strict=True)}
    assert found[2, 4] == pytest.approx([0.2, 0.0, 0.8, 0.0])
    for neighbour in ((1, 4), (3, 4), (2, 3), (2, 5)):
        assert found[neighbour] == pytest.approx([0.95, 0.0, 0.05, 0.0])
    assert sum(target[0] == 1 for target in targets.tolist()) == len(targets) - 5


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
    entity: paper.Span, widest: int, kept: float
) -> None:
    case = Sentences([6], [{(*entity, 0)}], widest, Smoothing(0.2))
    target = case.targets([(0, *entity)])
    assert target[0].tolist() == pytest.approx([1 - kept, kept, 0.0, 0.0])


def test_a_farther_reach_gives_each_distance_as_much() -> None:
    case = Sentences([9], [{(3, 6, 0)}], 9, Smoothing(0.3, distance=3))
    targets = case.targets()[:, 1]
    for distance in (1, 2, 3):
        own = [(0, *span) for span in paper.neighbours((3, 6), distance) if (0, *span) in case.spans]
        rows = [case.spans.index(span) for span in own]
        assert targets[rows].tolist() == pytest.approx([0.1 / (4 * distance)] * len(rows))


def test_a_batch_without_gold_or_without_spans_has_targets_too() -> None:
    nothing = Sentences([3, 2], [set(), set()], 3, Smoothing(0.1)).targets()
    assert nothing.tolist() == [[1.0, 0.0, 0.0, 0.0]] * 9
    assert Sentences([3], [{(0, 1, 0)}], 3, Smoothing(0.1)).targets([]).shape == (0, 1 + LABELS)
