"""Which negatives are drawn, against loops over sentences; whatever is drawn speaks for all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from hypothesis import given
from hypothesis import strategies as st

from spanwise.nn.batch import Batch
from spanwise.nn.sampling import draw_promising, stands_for

WIDEST = 3


class Sentence(NamedTuple):
    """Its gold spans, one of them perhaps with two labels, and the others."""

    length: int
    gold: list[tuple[int, int]]
    negative: list[tuple[int, int]]


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    length = draw(st.integers(1, 9))
    spans = [(start, end) for start in range(length) for end in range(start + 1, min(start + WIDEST, length) + 1)]
    gold = draw(st.lists(st.sampled_from(spans), max_size=4))
    return Sentence(length, gold, [span for span in spans if span not in gold])


def batch_of(rows: list[Sentence], keep: int | None = None) -> Batch:
    """A training batch with all negatives, or the first `keep` of each sentence."""
    spans = [(i, *span) for i, row in enumerate(rows) for span in (*row.gold, *row.negative[:keep])]
    labels = [label for row in rows for label in (*[1] * len(row.gold), *[0] * len(row.negative[:keep]))]
    lengths = torch.tensor([row.length for row in rows])
    unused: Any = torch.empty(0)
    return Batch(
        pieces=torch.zeros(len(rows), 1),
        piece_mask=unused,
        first_piece=unused,
        last_piece=unused,
        word_mask=torch.arange(int(lengths.max())) < lengths.unsqueeze(1),
        shapes=unused,
        spans=torch.tensor(spans, dtype=torch.long).view(-1, 3),
        span_labels=torch.tensor(labels, dtype=torch.long),
        pairs=unused,
        pair_labels=unused,
        gold=unused,
        gold_flat=unused,
    )


@given(st.lists(sentences(), min_size=1, max_size=4), st.integers(1, 12), st.integers(0, 99))
def test_the_most_promising_half_is_drawn_and_as_many_of_the_rest(rows: list[Sentence], most: int, seed: int) -> None:
    torch.manual_seed(seed)
    batch = batch_of(rows)
    promise = torch.randperm(len(batch.spans)).float() - 5  # no two alike
    drawn = draw_promising(batch, promise, most)
    assert drawn.rows.tolist() == sorted(set(drawn.rows.tolist()))
    weight = dict(zip(drawn.rows.tolist(), drawn.weight.tolist(), strict=True))
    for number in range(len(rows)):
        mine = (batch.spans[:, 0] == number).nonzero().squeeze(1).tolist()
        gold = {at for at in mine if batch.span_labels[at]}
        ranked = sorted(set(mine) - gold, key=lambda at: -promise[at])
        hard, rest = ranked[: most // 2], ranked[most // 2 :]
        lots = {at for at in rest if at in weight}
        assert gold | set(hard) <= set(weight)
        assert len(lots) == min(len(rest), most - most // 2)
        assert all(weight[at] == 1 for at in gold | set(hard))
        assert all(abs(weight[at] - len(rest) / len(lots)) < 1e-5 for at in lots)


def test_which_of_the_rest_are_drawn_is_chance() -> None:
    batch = batch_of([Sentence(5, [], [(i, i + 1) for i in range(5)])])
    torch.manual_seed(1)
    times = torch.zeros(5)
    for _ in range(2000):
        times[draw_promising(batch, torch.tensor([0.0, 9.0, 1.0, 2.0, 3.0]), 2).rows] += 1
    assert times[1] == 2000
    assert all(400 < number < 600 for number in times[[0, 2, 3, 4]])


def test_lots_are_as_fine_in_half_precision() -> None:
    batch = batch_of([Sentence(200, [], [(i, i + 1) for i in range(200)])])
    promise = torch.arange(200).float()
    drawn = []
    for scores in (promise, promise.bfloat16()):
        torch.manual_seed(1)
        drawn.append(draw_promising(batch, scores, 100))
    assert torch.equal(drawn[0].rows, drawn[1].rows)
    assert drawn[1].weight.dtype == torch.float32


@given(st.lists(sentences(), min_size=1, max_size=4), st.integers(1, 9))
def test_candidates_speak_for_every_span_of_their_sentence(rows: list[Sentence], keep: int) -> None:
    batch = batch_of(rows, keep)
    weight = stands_for(batch, WIDEST)
    for number, row in enumerate(rows):
        mine = weight[batch.spans[:, 0] == number].sum().item()
        assert abs(mine - len(set(row.gold)) - len(row.negative)) < 1e-4
