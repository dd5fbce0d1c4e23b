"""Words to word pieces, one word at a time and remembered: a word's pieces do not depend on its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MEMORY = 200_000  # words remembered before the memory is cleared


class WordPieces:
    """The pieces of words under a Hugging Face tokenizer; a word keeps at most `per_word` of them."""

    def __init__(self, tokenizer: Any, per_word: int) -> None:
        self.tokenizer = tokenizer
        self.per_word = per_word
        self.clipped = 0  # words that had more pieces: they stay words, described by their beginning
        self.prefix, self.suffix = _special_pieces(tokenizer)
        self.pad: int = tokenizer.pad_token_id or 0
        self._unknown: int = tokenizer.unk_token_id or 0
        self._special = frozenset(tokenizer.all_special_ids)  # a text that spells out "[SEP]" does not mean it
        self._spaced = bool(getattr(tokenizer, "add_prefix_space", None) is not None)
        self._known: dict[str, tuple[int, ...]] = {}

    def __call__(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        known = self._known
        if new := list({word for word in words if word not in known}):
            if len(known) + len(new) > MEMORY:
                known = self._known = {}
                new = list(set(words))
            self._learn(new)
        return [known[word] for word in words]

    def _learn(self, words: list[str]) -> None:
        longest = 64 * self.per_word  # characters: beyond them no piece would be kept
        texts = [f" {word[:longest]}" if self._spaced else word[:longest] for word in words]
        encoded = self.tokenizer(texts, add_special_tokens=False, return_attention_mask=False)["input_ids"]
        for word, ids in zip(words, encoded, strict=True):
            self.clipped += len(ids) > self.per_word or len(word) > longest
            kept = (self._unknown if i in self._special else i for i in ids[: self.per_word])
            self._known[word] = tuple(kept) or (self._unknown,)


def _special_pieces(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What the tokenizer puts before and behind a text."""
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    full = tokenizer("a")["input_ids"]
    for at in range(len(full) - len(bare) + 1):
        if full[at : at + len(bare)] == bare:
            return tuple(full[:at]), tuple(full[at + len(bare) :])
    return (), ()
