"""Word pieces: of each word for itself, the same every time, and never none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanwise.text import pieces as module
from spanwise.text.pieces import WordPieces


@pytest.fixture(scope="module")
def tokenizer(tiny_encoder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_encoder)


def test_a_word_falls_into_the_tokenizers_pieces(tokenizer: Any) -> None:
    pieces = WordPieces.of(tokenizer, max_per_word=16)
    found = [tokenizer.convert_ids_to_tokens(ids) for ids in pieces(["Ostrow", "the", "U.S."])]
    assert found == [["ost", "##r", "##ow"], ["the"], ["u", ".", "s", "."]]


def test_special_pieces_are_what_the_tokenizer_puts_around_a_text(tokenizer: Any) -> None:
    pieces = WordPieces.of(tokenizer, max_per_word=16)
    assert (pieces.prefix, pieces.suffix) == ((tokenizer.cls_token_id,), (tokenizer.sep_token_id,))
    assert pieces.pad == tokenizer.pad_token_id


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.text(min_size=1, max_size=8), max_size=10))
def test_neighbors_and_repetition_do_not_change_a_words_pieces(tokenizer: Any, words: list[str]) -> None:
    alone = [WordPieces.of(tokenizer, max_per_word=4)([word])[0] for word in words]
    shared = WordPieces.of(tokenizer, max_per_word=4)
    assert shared(words) == shared(words) == alone
    assert all(1 <= len(ids) <= 4 for ids in alone)


@pytest.mark.parametrize("word", ["\u200b", "\u0301", "\ufeff", "\x00"])
def test_a_word_the_tokenizer_makes_nothing_of_is_one_unknown_piece(tokenizer: Any, word: str) -> None:
    assert WordPieces.of(tokenizer, max_per_word=4)([word]) == [(tokenizer.unk_token_id,)]


def test_a_long_word_keeps_its_beginning_and_is_counted(tokenizer: Any) -> None:
    pieces = WordPieces.of(tokenizer, max_per_word=5)
    long, longer, fine = pieces(["abcdefgh", "z" * 10_000, "abc"])
    assert tokenizer.convert_ids_to_tokens(long) == ["a", "##b", "##c", "##d", "##e"]
    assert (len(longer), len(fine)) == (1, 3)  # beyond 100 letters WordPiece itself gives up
    assert pieces.truncated_words == 2
    pieces(["abcdefgh"])
    assert pieces.truncated_words == 2


def test_a_full_memory_is_cleared_and_nothing_else_changes(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHE_SIZE", 3)
    pieces, fresh = WordPieces.of(tokenizer, max_per_word=16), WordPieces.of(tokenizer, max_per_word=16)
    for words in (["a", "b", "c"], ["a", "d"], ["e", "f", "g", "h", "a"], ["a"]):
        assert pieces(words) == [fresh([word])[0] for word in words]
    assert len(pieces._known) <= 5


class InterruptedWords(list[str]):
    """Words of one text; between the first look at them and the second, something else happens."""

    def __init__(self, words: list[str], event: Callable[[], object]) -> None:
        super().__init__(words)
        self.looks, self.event = 0, event

    def __iter__(self) -> Iterator[str]:
        self.looks += 1
        if self.looks == 2:
            self.event()
        return super().__iter__()


@pytest.fixture
def small(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> WordPieces:
    """Word pieces with room for four words in their memory."""
    monkeypatch.setattr(module, "CACHE_SIZE", 4)
    return WordPieces.of(tokenizer, max_per_word=16)


def fill_from_another_thread(pieces: WordPieces) -> None:
    """The memory starts anew, while this thread is in the middle of something."""
    with ThreadPoolExecutor(1) as other:
        other.submit(pieces, ["w", "x", "y", "z"]).result(timeout=60)
    assert set(pieces._known) == {"w", "x", "y", "z"}


def test_known_words_are_read_although_another_thread_clears_the_memory(small: WordPieces) -> None:
    wanted = small(["kell", "dale"])
    words = InterruptedWords(["kell", "dale"], lambda: fill_from_another_thread(small))
    assert small(words) == wanted
    assert words.looks == 2


def test_new_words_are_read_although_another_thread_clears_the_memory(
    small: WordPieces, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = small._with

    def interrupted(words: list[str]) -> Any:
        monkeypatch.setattr(small, "_with", original)
        known = original(words)
        fill_from_another_thread(small)
        return known

    monkeypatch.setattr(small, "_with", interrupted)
    assert small(["kell", "dale"]) == WordPieces.of(tokenizer, max_per_word=16)(["kell", "dale"])


def test_a_word_with_an_unpaired_surrogate_has_pieces(tokenizer: Any) -> None:
    pieces = WordPieces.of(tokenizer, max_per_word=16)
    alone, within, paired = pieces(["\ud800", "ke\udfffll", "🙂"])
    assert alone == (tokenizer.unk_token_id,)
    assert within == pieces(["ke\ufffdll"])[0]
    assert paired


def test_words_that_look_like_special_tokens_are_not_taken_for_them(tokenizer: Any) -> None:
    pieces = WordPieces.of(tokenizer, max_per_word=16)
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    assert not special & {i for ids in pieces(["[SEP]", "[CLS]", "[PAD]", "[MASK]"]) for i in ids}
