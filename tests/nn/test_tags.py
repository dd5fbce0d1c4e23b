"""Tags of words: BIO, of words in two entities, and without the context before them; against loops."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from spanwise.nn.tags import bio_tags, covered_words, shift_to_first_scored, stacked_tags

Gold = tuple[int, int, int, int]  # example, start, end, label
LENGTH = 6
spans = st.tuples(st.integers(0, LENGTH - 1), st.integers(1, LENGTH)).filter(lambda span: span[0] < span[1])
gold_spans = st.lists(st.tuples(st.integers(0, 1), spans, st.integers(0, 2)), max_size=8)


def looped(gold: list[Gold], row: int) -> list[list[int]]:
    """Entities from the preceding on: who starts first, is longer, or has the lower label; two tags a word at most."""
    tags: list[list[int]] = [[] for _ in range(LENGTH)]
    for _, start, end, label in sorted({g for g in gold if g[0] == row}, key=lambda g: (g[1], -g[2], g[3])):
        for word in range(start, end):
            tags[word].append(1 + 2 * label if word == start else 2 + 2 * label)
    return [[*two, 0, 0][:2] for two in tags]


@given(gold_spans)
def test_the_two_entities_that_come_first_give_a_word_its_tags(
    drawn: list[tuple[int, tuple[int, int], int]],
) -> None:
    gold: list[Gold] = [(row, start, end, label) for row, (start, end), label in drawn]
    found = stacked_tags(torch.tensor(gold, dtype=torch.long).view(-1, 4), 2, LENGTH)
    assert found.permute(1, 2, 0).tolist() == [looped(gold, row) for row in range(2)]


@given(st.lists(spans, max_size=5))
def test_covered_words_are_every_word_of_every_span(drawn: list[tuple[int, int]]) -> None:
    start, end = torch.tensor(drawn, dtype=torch.long).view(-1, 2).unbind(-1)
    span, position = covered_words(start, end)
    wanted = [(number, word) for number, bounds in enumerate(drawn) for word in range(*bounds)]
    assert list(zip(span.tolist(), position.tolist(), strict=True)) == wanted


@given(st.lists(st.booleans(), min_size=LENGTH, max_size=LENGTH), st.lists(st.integers(0, 2), max_size=4))
def test_bio_tags_of_spans_that_do_not_overlap_are_those_of_a_loop(cuts: list[bool], labels: list[int]) -> None:
    starts = [word for word in range(LENGTH) if cuts[word]]
    entities = list(zip(starts, [*starts[1:], LENGTH], labels, strict=False))
    wanted = [0] * LENGTH
    for start, end, label in entities:
        wanted[start] = 1 + 2 * label
        for word in range(start + 1, end):
            wanted[word] = 2 + 2 * label
    gold = torch.tensor([(1, *entity) for entity in entities], dtype=torch.long).view(-1, 4)
    assert bio_tags(gold, 2, LENGTH).tolist() == [[0] * LENGTH, wanted]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=4))
def test_rows_that_begin_with_their_first_scored_word_keep_the_scored_words_in_order(
    rows: list[tuple[int, int]],
) -> None:
    """Each row has words of context, scored words, and context or padding behind them."""
    length = max(sum(row) for row in rows) + 1
    place = torch.arange(length)
    scored = torch.stack([(place >= first) & (place < first + count) for first, count in rows])
    vectors = torch.rand(len(rows), length, 2)
    moved, inside = shift_to_first_scored(vectors, scored), shift_to_first_scored(scored, scored)
    for row, (first, count) in enumerate(rows):
        assert inside[row].tolist() == [True] * count + [False] * (length - count)
        assert torch.equal(moved[row, :count], vectors[row, first : first + count])
