"""The names of the corpus: of many origins and shapes, and no two splits share one.

Words of one shape serve several kinds, so that only the words around a name tell a surname from a town or a company.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random
from zlib import crc32

_SOURCES = {
    "first": ("first",),
    "surname": ("surname", "surname", "surname", "built surname", "coined"),
    "town": ("town", "town", "built town", "built town", "coined"),
    "nation": ("nation",),
    "brand": ("brand", "brand", "coined"),
    "model": ("model",),
}
_ENDINGS = {
    "built surname": "ane wick er ley son ott ard ell am ing ow erby man field ton more sen sson ova ini escu",
    "built town": "ford ham wick by stead more mouth ley ton holm borough field stad gate haven bridge ick ana",
}
_ONSETS = "b br c ch d dr f fl g gr h j k kl l m n p pl qu r s sh sk st t th tr v w y z"
_VOWELS = "a a e e i o o u ai ou"
_CODAS = "l n r s th nd rn sk lt m x"
_SHARE = 7
"""Of so many names, one goes to dev and one to test."""
_TRIPLE = re.compile(r"(.)\1\1")
_ATTEMPTS = 200


def read_names(lines: Iterable[str]) -> dict[str, list[str]]:
    """The lists of a name file by their headings."""
    lists: dict[str, list[str]] = {}
    words: list[str] = []
    for line in (line.strip() for line in lines):
        if line.startswith("["):
            words = lists[line.strip("[]")] = []
        elif not line.startswith("#"):
            words += line.split()
    return lists


class Names:
    """Draws the names and numbers of one split; within a sentence no name comes twice."""

    def __init__(self, random: Random, split: str, lists: dict[str, list[str]]) -> None:
        self._random, self._split = random, split
        self._lists = {kind: [w for i, w in enumerate(words) if _split_of(i) == split] for kind, words in lists.items()}
        self._used: set[str] = set()

    def start_sentence(self) -> None:
        self._used.clear()

    def draw(self, kind: str) -> str:
        """A new name, or a number, of this kind."""
        if kind not in _SOURCES:
            return self._number(kind)
        for _ in range(_ATTEMPTS):
            name = self._candidate(self._random.choice(_SOURCES[kind]))
            if name not in self._used and not _TRIPLE.search(name.lower()):
                self._used.add(name)
                return name
        raise ValueError(f"a sentence asks for more names of kind {kind!r} than there are; add some to this split.")

    def _candidate(self, source: str) -> str:
        if source == "coined":
            return self._coined()
        if endings := _ENDINGS.get(source):
            return self._random.choice(self._lists["stem"]) + self._random.choice(endings.split())
        return self._random.choice(self._lists[source])

    def _coined(self) -> str:
        """A word of two or three syllables; its checksum decides its split."""
        while True:
            pick = self._random.choice
            syllables = [pick(_ONSETS.split()) + pick(_VOWELS.split()) for _ in range(pick((2, 2, 2, 3)))]
            name = ("".join(syllables) + pick(["", *_CODAS.split()])).capitalize()
            if _split_of(crc32(name.encode())) == self._split:
                return name

    def _number(self, kind: str) -> str:
        between = self._random.randrange
        match kind:
            case "dom":
                return str(between(1, 29))
            case "yyyy":
                return str(between(1962, 2026))
            case "future":
                return str(between(2026, 2036))
            case "age":
                return str(between(19, 84))
            case "percent":
                return str(between(2, 24))
            case "count":
                return str(between(14, 980))
            case "number":
                return self._random.choice(("2", "3", "5", "7", "9", "40", "80", "120", "300", "500", "X1", "X2", "S4"))
            case "decimal":
                return f"{between(1, 90)}.{between(1, 10)}" if between(2) else str(between(2, 900))
            case "thousands":
                return f"{between(2, 800)},{between(0, 1000, 50):03d}"
            case "initial":
                return self._random.choice("ABCDEFGHIJKLMNOPRSTVWZ") + "."
        raise ValueError(f"the grammar asks for {kind!r}, which is neither a rule nor a kind of name; add it.")


def _split_of(index: int) -> str:
    return {0: "dev", 1: "test"}.get(index % _SHARE, "train")
