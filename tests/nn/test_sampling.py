"""Which negatives are sampled, against loops over sentences; the weights of a sample add up to all of them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from spanwise.nn.sampling import all_candidates, sample_by_score, sampling_weights

WIDEST = 3
LABELS = 2
Span = tuple[int, int]


class Sentence(NamedTuple):
    """Its scored words and the context before them; its gold spans, some perhaps twice, and the others."""

    length: int
    context: int
    gold: list[Span]
    negative: list[Span]


class Candidates(NamedTuple):
    spans: Tensor  # [N, 3]
    labels: Tensor  # [N, E]
    scored: Tensor  # [B, T]


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    length, context = draw(st.integers(1, 9)), draw(st.integers(0, 2))
    starts = range(context, context + length)
    spans = [(start, end) for start in starts for end in range(start + 1, min(start + WIDEST, context + length) + 1)]
    gold = draw(st.lists(st.sampled_from(spans), max_size=4))
    return Sentence(length, context, gold, [span for span in spans if span not in gold])


def candidates(rows: list[Sentence], keep: int | None = None) -> Candidates:
    """Those of a training batch with all negatives, or with the first `keep` of each sentence."""
    spans = [(i, *span) for i, row in enumerate(rows) for span in (*row.gold, *row.negative[:keep])]
    gold = [own for row in rows for own in (*[1] * len(row.gold), *[0] * len(row.negative[:keep]))]
    labels = torch.zeros(len(spans), LABELS, dtype=torch.bool)
    labels[torch.arange(len(spans)), torch.arange(len(spans)) % LABELS] = torch.tensor(gold, dtype=torch.bool)
    place = torch.arange(max(row.context + row.length for row in rows) + 1)
    scored = [(place >= row.context) & (place < row.context + row.length) for row in rows]
    return Candidates(torch.tensor(spans, dtype=torch.long).view(-1, 3), labels, torch.stack(scored))


@given(st.lists(sentences(), min_size=1, max_size=4), st.integers(1, 12), st.integers(0, 99))
def test_half_of_the_sample_is_the_highest_scored_and_half_is_random(
    rows: list[Sentence], limit: int, seed: int
) -> None:
    torch.manual_seed(seed)
    spans, labels, _ = candidates(rows)
    scores = torch.randperm(len(spans)).float() - 5  # no two alike
    sampled = sample_by_score(spans, labels, scores, torch.full((len(rows),), limit))
    assert sampled.candidates.tolist() == sorted(set(sampled.candidates.tolist()))
    assert torch.equal(sampled.spans, spans[sampled.candidates])
    weight = dict(zip(sampled.candidates.tolist(), sampled.weights.tolist(), strict=True))
    for number in range(len(rows)):
        own = (spans[:, 0] == number).nonzero().squeeze(1).tolist()
        gold = {at for at in own if labels[at].any()}
        ranked = sorted(set(own) - gold, key=lambda at: -scores[at])
        hard, rest = ranked[: limit // 2], ranked[limit // 2 :]
        random = {at for at in rest if at in weight}
        assert gold | set(hard) <= set(weight)
        assert len(random) == min(len(rest), limit - limit // 2)
        assert all(weight[at] == 1 for at in gold | set(hard))
        assert all(abs(weight[at] - len(rest) / len(random)) < 1e-5 for at in random)


def single_words(number: int) -> Candidates:
    return candidates([Sentence(number, 0, [], [(i, i + 1) for i in range(number)])])


def test_every_negative_that_is_not_hard_is_sampled_equally_often() -> None:
    spans, labels, _ = single_words(5)
    torch.manual_seed(1)
    times = torch.zeros(5)
    for _ in range(2000):
        times[
            sample_by_score(spans, labels, torch.tensor([0.0, 9.0, 1.0, 2.0, 3.0]), torch.tensor([2])).candidates
        ] += 1
    assert times[1] == 2000
    assert all(400 < number < 600 for number in times[[0, 2, 3, 4]])


def test_scores_in_half_precision_give_the_same_sample() -> None:
    spans, labels, _ = single_words(200)
    scores = torch.arange(200).float()
    samples = []
    for given_scores in (scores, scores.bfloat16()):
        torch.manual_seed(1)
        samples.append(sample_by_score(spans, labels, given_scores, torch.tensor([100])))
    assert torch.equal(samples[0].candidates, samples[1].candidates)
    assert samples[1].weights.dtype == torch.float32


@given(st.lists(sentences(), min_size=1, max_size=4), st.integers(1, 9))
def test_weights_of_a_sentence_add_up_to_the_number_of_its_spans(rows: list[Sentence], keep: int) -> None:
    spans, labels, scored = candidates(rows, keep)
    weight = sampling_weights(spans, labels, scored, WIDEST)
    for number, row in enumerate(rows):
        own = weight[spans[:, 0] == number].sum().item()
        assert abs(own - len(set(row.gold)) - len(row.negative)) < 1e-4


def test_all_candidates_count_once() -> None:
    spans = torch.tensor([[0, 0, 1], [1, 2, 4]])
    sampled = all_candidates(spans)
    assert torch.equal(sampled.spans, spans)
    assert (sampled.candidates.tolist(), sampled.weights.tolist()) == ([0, 1], [1.0, 1.0])
