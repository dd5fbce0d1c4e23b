"""Targets of starts and ends, and scores of pairs of words, against loops. Their matching: see tests/decoding."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from spanwise.nn import pointers
from spanwise.nn.pointers import Matcher, MatchFeatures, gold_cells, matched_cells, pointer_layer, pointer_targets

SIZE, LENGTH, LABELS, DIM = 2, 5, 3, 4
Gold = list[tuple[int, int, int, int]]  # example, start, end, label
gold_spans: Any = st.tuples(st.integers(0, 1), st.integers(0, 4), st.integers(1, 5), st.integers(0, 2))
any_gold = st.lists(gold_spans.filter(lambda span: span[1] < span[2]), max_size=8)


def as_tensor(gold: Gold) -> Tensor:
    return torch.tensor(gold, dtype=torch.long).view(-1, 4)


@given(any_gold)
def test_targets_are_one_where_a_gold_span_of_the_label_starts_and_ends(gold: Gold) -> None:
    starts, ends = pointer_targets(as_tensor(gold), torch.Size((SIZE, LENGTH, LABELS)))
    assert {tuple(cell) for cell in starts.nonzero().tolist()} == {(row, start, label) for row, start, _, label in gold}
    assert {tuple(cell) for cell in ends.nonzero().tolist()} == {(row, end - 1, label) for row, _, end, label in gold}
    assert set(torch.cat((starts, ends)).flatten().tolist()) <= {0.0, 1.0}


def every_cell() -> list[tuple[int, int, int, int]]:
    """Example, label, first and last word, in the order of their numbers."""
    return list(product(range(SIZE), range(LABELS), range(LENGTH), range(LENGTH)))


@given(any_gold)
def test_gold_cells_are_numbered_by_example_label_first_and_last_word(gold: Gold) -> None:
    cells = every_cell()
    found = [cells[number] for number in gold_cells(as_tensor(gold), LABELS, LENGTH).tolist()]
    assert found == [(row, label, start, end - 1) for row, start, end, label in gold]


@pytest.fixture(scope="module", params=["linear", "mlp"])
def matcher(request: pytest.FixtureRequest) -> Matcher:
    torch.manual_seed(0)
    return Matcher(request.param, DIM, LABELS)


def features(matcher: Matcher, seed: int) -> MatchFeatures:
    wide = 1 if matcher.weigh is None else DIM
    generator = torch.Generator().manual_seed(seed)
    return MatchFeatures(*(torch.randn(SIZE, LENGTH, LABELS, wide, generator=generator) for _ in range(2)))


def logit(matcher: Matcher, given_features: MatchFeatures, cell: tuple[int, int, int, int]) -> float:
    """Of one pair of words: the sum of its ends' shares, or through GELU and the label's own vector."""
    row, label, first, last = cell
    both = given_features.heads[row, first, label] + given_features.tails[row, last, label]
    if matcher.weigh is None:
        return both.item()
    return float(torch.nn.functional.gelu(both) @ matcher.weigh[label])


@torch.no_grad()
def test_cells_have_the_scores_of_their_two_words(matcher: Matcher) -> None:
    given_features = features(matcher, 1)
    numbers = torch.randperm(len(every_cell()))
    wanted = [logit(matcher, given_features, every_cell()[number]) for number in numbers.tolist()]
    torch.testing.assert_close(matcher.cells(given_features, numbers), torch.tensor(wanted))


@torch.no_grad()
@pytest.mark.parametrize("block_size", [1, 30, 2**22])
def test_matched_cells_are_pairs_of_scored_words_above_one_half_in_any_number_of_blocks(
    matcher: Matcher, block_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pointers, "CELLS", block_size)
    scored = torch.tensor([[False, True, True, True, False], [True, True, True, True, True]])
    for seed in range(5):
        given_features = features(matcher, seed)
        wanted = [
            number
            for number, (row, label, first, last) in enumerate(every_cell())
            if first <= last
            and scored[row, first]
            and scored[row, last]
            and logit(matcher, given_features, (row, label, first, last)) > 0
        ]
        assert len(wanted) > 20
        assert matched_cells(matcher, given_features, scored).tolist() == wanted


def test_a_new_pointer_takes_words_for_starts_with_a_probability_of_one_percent() -> None:
    layer = pointer_layer(DIM, LABELS)
    assert layer.bias.sigmoid().tolist() == pytest.approx([0.01] * LABELS)
