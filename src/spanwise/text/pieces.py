"""Words to word pieces. Each word is tokenized alone and cached: its pieces do not depend on its neighbors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from spanwise.errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

CACHE_SIZE = 200_000  # words; a full cache is cleared
Encode = Callable[[list[str]], Sequence[Sequence[int]]]  # ids of texts, without special tokens


@dataclass(frozen=True, slots=True)
class PieceSettings:
    """How the pieces of a tokenizer are used; an exported model stores them."""

    max_per_word: int  # the first pieces of a longer word represent it
    prefix: tuple[int, ...]  # special pieces before a text
    suffix: tuple[int, ...]  # and behind it
    pad: int
    unknown: int
    special: tuple[int, ...]  # text never produces them: "[SEP]" in a text is plain text
    spaced: bool  # words are tokenized with a space before them


class WordPieces:
    """The pieces of words under a tokenizer, at most `max_per_word` per word.

    Safe to be called from several threads: the memory is only ever added to or replaced, never cleared, so that who has
    taken it in hand finds all its words in it; and one thread at a time asks the tokenizer, which could not answer two.
    """

    def __init__(self, encode: Encode, settings: PieceSettings) -> None:
        self.settings = settings
        self.max_per_word = settings.max_per_word
        self.truncated_words = 0  # words with more pieces; their first pieces represent them
        self.prefix, self.suffix, self.pad = settings.prefix, settings.suffix, settings.pad
        self._encode = encode
        self._special = frozenset(settings.special)
        self._known: dict[str, tuple[int, ...]] = {}
        self._lock = Lock()

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase, max_per_word: int, own: Iterable[int] = ()) -> WordPieces:
        """Pieces under a tokenizer of transformers; `own` are the ids of tokens that a model added."""

        def encode(texts: list[str]) -> Sequence[Sequence[int]]:
            ids: Sequence[Sequence[int]] = tokenizer(texts, add_special_tokens=False, return_attention_mask=False)[
                "input_ids"
            ]
            return ids

        prefix, suffix = _special_pieces(tokenizer)
        settings = PieceSettings(
            max_per_word,
            prefix,
            suffix,
            pad=tokenizer.pad_token_id or 0,
            unknown=tokenizer.unk_token_id or 0,
            special=tuple(sorted({*tokenizer.all_special_ids, *own})),
            spaced=getattr(tokenizer, "add_prefix_space", None) is not None,
        )
        return cls(encode, settings)

    @classmethod
    def from_file(cls, path: Path, settings: PieceSettings) -> WordPieces:
        """Pieces under a `tokenizer.json`, without transformers."""
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises plain exceptions
            raise ModelError(f"{path}: not a tokenizer ({str(error)[:200]}); copy it again.") from None
        tokenizer.no_truncation()
        tokenizer.no_padding()

        def encode(texts: list[str]) -> Sequence[Sequence[int]]:
            return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]

        return cls(encode, settings)

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
        texts = [f" {word}" if self.settings.spaced else word for word in kept]
        rows = []
        for word, ids in zip(words, self._encode(texts), strict=True):
            self.truncated_words += len(ids) > self.max_per_word or len(word) > longest
            beginning = (self.settings.unknown if i in self._special else i for i in ids[: self.max_per_word])
            rows.append(tuple(beginning) or (self.settings.unknown,))
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
