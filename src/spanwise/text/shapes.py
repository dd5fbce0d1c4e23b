"""The shape of a word, such as its case or digits, as one of a few classes. An uncased encoder does not see it."""

from __future__ import annotations

import re
from functools import lru_cache

SHAPES = (
    "lower",
    "title",
    "upper",
    "initial",
    "mixed",
    "number",
    "alphanumeric",
    "punctuation",
    "handle",
    "link",
    "uncased",
)
_INDEX = {shape: index for index, shape in enumerate(SHAPES)}
_LINK = re.compile(r"(?:https?:|www\.)", re.IGNORECASE)


@lru_cache(maxsize=65536)
def word_shape(word: str) -> int:
    """The index of the word's shape in SHAPES."""
    return _INDEX[_shape(word)]


def _shape(word: str) -> str:
    if word[0] in "#@" and len(word) > 1:
        return "handle"
    if _LINK.match(word):
        return "link"
    letters = [c for c in word if c.isalpha()]
    if any(c.isdigit() for c in word):
        return "alphanumeric" if letters else "number"
    if not letters:
        return "punctuation"
    if not any(c.isupper() or c.islower() for c in letters):
        return "uncased"
    if all(c.islower() for c in letters):
        return "lower"
    if all(c.isupper() for c in letters):
        return "initial" if len(letters) == 1 else "upper"
    return "title" if letters[0].isupper() and not any(c.isupper() for c in letters[1:]) else "mixed"
