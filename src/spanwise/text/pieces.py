"""Words to word pieces. Each word is tokenized alone and cached: its pieces do not depend on its neighbors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

CACHE_SIZE = 200_000  # words; a full cache is cleared


class WordPieces:
    """The pieces of words under a Hugging Face tokenizer, at most `max_per_word` per word.

    `own` are the ids of tokens that a model added. Text never produces them.

    Safe to be called from several threads: the memory is only ever added to or replaced, never cleared, so that who has
    taken it in hand finds all its words in it; and one thread at a time asks the tokenizer, which could not answer two.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, max_per_word: int, own: Iterable[int] = ()) -> None:
        self.tokenizer = tokenizer
        self.max_per_word = max_per_word
        self.truncated_words = 0  # words with more pieces; their first pieces represent them
        self.prefix, self.suffix = _special_pieces(tokenizer)
        self.pad: int = tokenizer.pad_token_id or 0
        self._unknown: int = tokenizer.unk_token_id or 0
        self._special = frozenset((*tokenizer.all_special_ids, *own))  # "[SEP]" in a text is plain text
        self._spaced = bool(getattr(tokenizer, "add_prefix_space", None) is not None)
        self._known: dict[str, tuple[int, ...]] = {}
        self._lock = Lock()

    def __call__(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        known = self._known
        if any(word not in known for word in words):
            known = self._with(words)
        return [known[word] for word in words]

    def _with(self, words: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """The cache after adding these words."""
        with self._lock:
            known = self._known
            new = list({word for word in words if word not in known})
            if len(known) + len(new) > CACHE_SIZE:
                known, new = {}, list(set(words))
            known.update(zip(new, self._encoded(new), strict=True))
            self._known = known
            return known

    def _encoded(self, words: list[str]) -> list[tuple[int, ...]]:
        if not words:
            return []
        longest = 64 * self.max_per_word  # characters: beyond them no piece would be kept
        kept = (_encodable(word[:longest]) for word in words)
        texts = [f" {word}" if self._spaced else word for word in kept]
        encoded = self.tokenizer(texts, add_special_tokens=False, return_attention_mask=False)["input_ids"]
        rows = []
        for word, ids in zip(words, encoded, strict=True):
            self.truncated_words += len(ids) > self.max_per_word or len(word) > longest
            beginning = (self._unknown if i in self._special else i for i in ids[: self.max_per_word])
            rows.append(tuple(beginning) or (self._unknown,))
        return rows


def _encodable(word: str) -> str:
    """The word with U+FFFD in place of unpaired surrogates, which no tokenizer takes."""
    return word if word.isascii() else word.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _special_pieces(tokenizer: PreTrainedTokenizerBase) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The special tokens that the tokenizer adds before and after a text."""
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    full = tokenizer("a")["input_ids"]
    for at in range(len(full) - len(bare) + 1):
        if full[at : at + len(bare)] == bare:
            return tuple(full[:at]), tuple(full[at + len(bare) :])
    return (), ()
