"""Sentence borders: where they lie, where they must not, and that they are fast to find."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.document import Document
from spanwise.text.sentences import first_sentences, sentence_starts
from spanwise.text.words import segment


def sentences(text: str) -> list[str]:
    words = segment(text)
    starts = sentence_starts(text, words)
    return [text[words[a].start : words[b - 1].end] for a, b in zip(starts, [*starts[1:], len(words)], strict=True)]


@given(st.text() | st.text(alphabet='aB1.!?。…"() \n-,'))
def test_starts_rise_from_zero_and_lie_among_the_words(text: str) -> None:
    words = segment(text)
    starts = sentence_starts(text, words)
    assert starts == sorted(set(starts))
    assert starts[:1] == ([0] if words else [])
    assert all(start < len(words) for start in starts)


@pytest.mark.parametrize(
    "parts",
    [
        ["One ends here.", "Two begins."],
        ["Really?", "Yes!", "Good."],
        ['She said "no."', "Then she left."],
        ["It ended (at last.)", "Then it rained."],
        ["It ended.", '"Never again," he said.'],
        ["He waited...", "Nobody came."],
        ["It grew by 3.5 percent.", "Sales were flat."],
        ["They live in the U.S.", "They like it."],
        ["He runs Acme Inc.", "The firm is old."],
    ],
)
def test_a_terminator_before_a_capital_ends_a_sentence(parts: list[str]) -> None:
    assert sentences(" ".join(parts)) == parts


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith met Mr. Jones.",
        "J. K. Rowling wrote it.",
        "The U.S. Senate met Acme Inc. Chairman Doe.",
        "See e.g. Fig. 3 and No. 7.",
        '"Why?" he asked.',
        "Yahoo! is a firm.",
        "Version 1.2 came out at 9:30 p.m. on Jan. 5.",
        "1. Introduction",
    ],
)
def test_abbreviations_initials_and_quoted_questions_do_not_end_one(text: str) -> None:
    assert sentences(text) == [text]


def test_scripts_without_spaces_need_none_after_the_terminator() -> None:
    assert sentences("今天下雨。你来吗？“来！”他说。") == ["今天下雨。", "你来吗？", "“来！”", "他说。"]


def test_other_terminators() -> None:
    assert sentences("كيف حالك؟ جيد") == ["كيف حالك؟", "جيد"]
    assert sentences("यह घर है। वह पेड़ है।") == ["यह घर है।", "वह पेड़ है।"]


def test_a_blank_line_always_ends_a_sentence() -> None:
    assert sentences("no full stop here\n \nnor here") == ["no full stop here", "nor here"]
    assert sentences("no full stop here\r\n\r\nnor here") == ["no full stop here", "nor here"]


def test_a_wrapped_line_goes_on_and_a_heading_does_not() -> None:
    wrapped = "This line was broken by an editor because it ran past the\nWidth that somebody chose."
    assert sentences(f"Some Heading\n{wrapped}") == ["Some Heading", wrapped]


def test_list_items_start_a_sentence_each() -> None:
    assert sentences("1. First of all\n2. Then that\n- and this\n- or that") == [
        "1. First of all",
        "2. Then that",
        "- and this",
        "- or that",
    ]


def test_words_of_a_corpus_are_taken_as_they_are() -> None:
    document = Document.from_words(["I", "met", "Dr.", "Doe", "of", "the", "U.S.", "Senate", ".", "We", "talked", "."])
    assert sentence_starts(document.text, document.words) == [0, 9]


@pytest.mark.parametrize("unit", ["The end. ", '"', ". ", "a\n", "中。", '." ', "(", "\n\n", "Dr. "])
def test_time_stays_linear(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    words = segment(text)
    began = time.perf_counter()
    sentence_starts(text, words)
    assert time.perf_counter() - began < 3, "a quadratic rule would take minutes"


@given(st.text(alphabet='aB1.!?。…"() \n-,'), st.integers(1, 4))
def test_the_first_sentences_of_a_text_are_its_beginning(text: str, number: int) -> None:
    kept = first_sentences(text, number)
    assert text.startswith(kept)
    assert kept == text or kept.endswith(sentences(text)[number - 1])
