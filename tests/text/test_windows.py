"""Windows: all words are covered, every window fits, and every entity no wider than the overlap has one owner."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spanwise.text.windows import Window, cut_windows, sentence_windows


class Text(NamedTuple):
    """The pieces of each word, what an encoder can read, and where sentences start."""

    pieces: list[int]
    limit: int
    overlap: int
    sentences: list[int]

    def cut(self) -> list[Window]:
        return cut_windows(*self)

    def size(self, start: int, end: int) -> int:
        return sum(self.pieces[start:end])

    def spans(self) -> list[tuple[int, int]]:
        return [(s, e) for s in range(len(self.pieces)) for e in range(s + 1, len(self.pieces) + 1)]


@st.composite
def texts(draw: st.DrawFn) -> Text:
    """Any words and limits: words wider than the limit and an overlap as wide as the limit are among them."""
    widest = draw(st.integers(1, 20))
    pieces = draw(st.lists(st.integers(1, widest), min_size=1, max_size=60))
    limit = draw(st.integers(1, 60))
    overlap = draw(st.integers(0, limit))
    sentences = draw(st.sets(st.integers(0, len(pieces) - 1)))
    return Text(pieces, limit, overlap, sorted({0, *sentences}))


NO_OVERLAP = Text([1] * 30, 8, 0, [0])
EQUAL_WORDS = Text([3] * 30, 16, 4, [0])
BORDERS_EVERYWHERE = Text([1] * 40, 8, 3, list(range(40)))
WORDS_BEYOND_LIMIT = Text([9, 1, 1, 9, 9, 1], 4, 2, [0, 3])
NARROW_THEN_WIDE = Text([1, 2, 1, 1, 1, 8, 1, 1], 12, 6, [0, 2, 6])
WIDE_AFTER_OVERLAP = Text([*[1] * 30, *[16] * 8], 40, 12, [0, 22, 27, 33])
SENTENCE_INSIDE_OVERLAP = Text([1] * 60, 20, 6, [0, 18, 19, 37, 38])
edge_cases = (
    NO_OVERLAP,
    EQUAL_WORDS,
    BORDERS_EVERYWHERE,
    WORDS_BEYOND_LIMIT,
    NARROW_THEN_WIDE,
    WIDE_AFTER_OVERLAP,
    SENTENCE_INSIDE_OVERLAP,
)


def holders(windows: list[Window], start: int, end: int) -> list[Window]:
    return [w for w in windows if w.start <= start and end <= w.end]


@given(texts())
@example(NO_OVERLAP)
@example(EQUAL_WORDS)
@example(BORDERS_EVERYWHERE)
@example(WORDS_BEYOND_LIMIT)
@example(NARROW_THEN_WIDE)
@example(WIDE_AFTER_OVERLAP)
def test_windows_cover_all_words_from_left_to_right_and_each_brings_a_new_word(text: Text) -> None:
    windows = text.cut()
    assert windows[0].start == 0
    assert windows[-1].end == len(text.pieces)
    for left, right in pairwise(windows):
        assert left.start < right.start <= left.end < right.end


@given(texts())
@example(WORDS_BEYOND_LIMIT)
def test_a_window_fits_the_limit_and_a_word_beyond_it_stands_alone(text: Text) -> None:
    for window in text.cut():
        assert text.size(window.start, window.end) <= text.limit or window.end - window.start == 1


@given(texts())
@example(NO_OVERLAP)
@example(BORDERS_EVERYWHERE)
@example(SENTENCE_INSIDE_OVERLAP)
def test_a_span_no_wider_than_the_overlap_lies_whole_in_a_window(text: Text) -> None:
    windows = text.cut()
    for start, end in text.spans():
        if text.size(start, end) <= text.overlap or end == start + 1:
            assert holders(windows, start, end)


@given(texts())
@example(WIDE_AFTER_OVERLAP)
@example(SENTENCE_INSIDE_OVERLAP)
def test_every_span_that_a_window_holds_is_owned_by_exactly_one_that_holds_it(text: Text) -> None:
    windows = text.cut()
    for start, end in text.spans():
        holding = holders(windows, start, end)
        owning = [w for w in windows if w.owns(start, end)]
        assert len(owning) == min(1, len(holding))
        assert set(owning) <= set(holding)


@given(texts())
@example(EQUAL_WORDS)
@example(SENTENCE_INSIDE_OVERLAP)
def test_what_a_windows_edge_leaves_of_an_entity_is_not_reported(text: Text) -> None:
    windows = text.cut()
    if text.limit < text.overlap + 2 * max(text.pieces):
        return  # so wide are these words that neighbors may share less than the overlap
    for start, end in text.spans():
        if text.size(start, end) <= text.overlap:
            assert not any(w.owns(w.start, end) for w in windows if start < w.start < end)
            assert not any(w.owns(start, w.end) for w in windows if start < w.end < end)


@given(texts())
def test_neighbors_share_the_overlap_where_two_words_more_fit(text: Text) -> None:
    if text.limit < text.overlap + 2 * max(text.pieces):
        return
    for left, right in pairwise(text.cut()):
        assert text.size(right.start, left.end) >= text.overlap


@pytest.mark.parametrize("text", edge_cases)
def test_each_window_uses_half_of_the_limit_unless_the_next_word_is_too_wide(text: Text) -> None:
    for window in text.cut()[:-1]:
        used, with_next = text.size(window.start, window.end), text.size(window.start, window.end + 1)
        assert 2 * used >= text.limit or with_next > text.limit


def test_a_text_within_the_limit_is_one_window_that_owns_all() -> None:
    text = Text([2, 3, 1], 6, 2, [0, 2])
    assert text.cut() == [Window(0, 3, 0, 3)]
    assert all(text.cut()[0].owns(*span) for span in text.spans())


def test_windows_end_and_start_with_sentences_in_reach() -> None:
    starts = list(range(0, 200, 7))
    windows = cut_windows([1] * 200, 40, 8, starts)
    assert len(windows) > 4
    assert {w.end for w in windows[:-1]} <= set(starts)
    assert {w.start for w in windows} <= set(starts)


def test_a_sentence_out_of_reach_does_not_shrink_a_window() -> None:
    windows = cut_windows([1] * 100, 20, 4, [0, 3])  # to end at word 3 would waste the window
    assert windows[0].end == 20


def test_a_sentence_inside_the_overlap_does_not_shrink_the_overlap() -> None:
    windows = cut_windows([1] * 60, 20, 6, [0, 19])
    assert windows[0].end == 19
    assert windows[1].start <= 13


def test_a_span_in_the_middle_of_the_shared_words_goes_to_one_side() -> None:
    left, right = cut_windows([1] * 30, 20, 10)
    assert (left.end, right.start) == (20, 10)
    assert [left.owns(w, w + 1) for w in range(10, 20)] == [True] * 5 + [False] * 5
    assert [right.owns(w, w + 1) for w in range(10, 20)] == [False] * 5 + [True] * 5


def test_without_overlap_windows_lie_side_by_side() -> None:
    assert [(w.start, w.end) for w in NO_OVERLAP.cut()] == [(0, 8), (8, 16), (16, 24), (24, 30)]


def test_long_text_is_cut_in_linear_time_and_few_windows() -> None:
    windows = cut_windows([2] * 100_000, 510, 64, list(range(0, 100_000, 20)))
    assert len(windows) < 1.3 * 200_000 / (510 - 64)


def test_a_window_per_sentence_and_several_for_one_that_is_too_long() -> None:
    pieces = [1] * 4 + [2] * 10 + [1] * 3
    windows = sentence_windows(pieces, limit=8, overlap=2, sentences=[0, 4, 14])
    assert windows[0] == Window(0, 4, 0, 4)
    assert windows[-1] == Window(14, 17, 14, 17)
    middle = windows[1:-1]
    assert len(middle) > 1
    assert (middle[0].start, middle[-1].end) == (4, 14)
    assert all(sum(pieces[w.start : w.end]) <= 8 for w in windows)
    for start in range(len(pieces)):
        assert sum(window.owns(start, start + 1) for window in windows) == 1
