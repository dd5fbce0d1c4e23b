"""Tag schemes: entities as one tag per word. Known are IOB1, IOB2, BIOES, BILOU and BMES."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spanwise.errors import FormatError
from spanwise.formats.fields import short_repr
from spanwise.formats.tokens import WordSpan

# How each scheme writes the first, an inner, the last and the only word of an entity.
_LETTERS = {"IOB1": "IIII", "IOB2": "BIIB", "BIOES": "BIES", "BILOU": "BILU", "BMES": "BMES"}
_READ = {
    "IOB1": {"B": "B", "I": "I"},
    "IOB2": {"B": "B", "I": "I"},
    **{name: dict(zip(_LETTERS[name], "BIES", strict=True)) for name in ("BIOES", "BILOU", "BMES")},
}
SCHEMES = tuple(_LETTERS)
_ALIASES = {"BIO": "IOB2", "IOBES": "BIOES", "BIOLU": "BILOU"}


class TagError(FormatError):
    """A tag that its scheme does not know, and its place in the sentence."""

    def __init__(self, reason: str, index: int) -> None:
        super().__init__(reason)
        self.index = index


def scheme_named(name: str) -> str:
    """The scheme of this name, in any case and by its usual other names."""
    scheme = _ALIASES.get(name.upper(), name.upper())
    if scheme not in SCHEMES:
        raise FormatError(f"the tag scheme {short_repr(name)} is unknown; choose one of {', '.join(SCHEMES)}.")
    return scheme


def encode(spans: Iterable[WordSpan], length: int, scheme: str) -> list[str]:
    """Tags of `length` words for entities that do not overlap."""
    first, inner, last, only = tuple(_LETTERS[scheme])
    tags = ["O"] * length
    previous = None
    for span in sorted(spans):
        width = span.last - span.first
        letters = [only] if width == 1 else [first, *[inner] * (width - 2), last]
        if scheme == "IOB1" and previous == (span.first, span.label):
            letters[0] = "B"
        tags[span.first : span.last] = [f"{letter}-{span.label}" for letter in letters]
        previous = (span.last, span.label)
    return tags


def decode(tags: Sequence[str], scheme: str) -> tuple[list[WordSpan], int]:
    """The entities of tags and the number of repairs: a tag out of place starts or ends an entity, none is lost."""
    must_close = "E" in _READ[scheme].values()
    spans: list[WordSpan] = []
    repairs, start, current = 0, -1, ""
    for index, tag in enumerate([*tags, "O"]):
        letter, label = _split(tag, scheme, index)
        goes_on = start >= 0 and letter in {"I", "E"} and label == current
        if start >= 0 and not goes_on:
            spans.append(WordSpan(start, index, current))
            repairs += must_close
            start = -1
        if letter == "O":
            continue
        if not goes_on:
            repairs += letter == "E" or (letter == "I" and scheme != "IOB1")
            start, current = index, label
        if letter in {"E", "S"}:
            spans.append(WordSpan(start, index + 1, label))
            start = -1
    return spans, repairs


def _split(tag: str, scheme: str, index: int) -> tuple[str, str]:
    """A tag's letter, as BIOES would write it, and its label."""
    if tag == "O":
        return "O", ""
    letter, dash, label = tag.partition("-")
    if letter not in _READ[scheme] or not dash or not label:
        known = ", ".join(f"{letter}-TYPE" for letter in _READ[scheme])
        reason = (
            f"the tag {short_repr(tag)} is not one of {scheme} ({known}, O); correct it, or name the file's scheme."
        )
        raise TagError(reason, index)
    return _READ[scheme][letter], label


class SchemeDetector:
    """Looks at tags and says which scheme they follow."""

    def __init__(self) -> None:
        self._letters: set[str] = set()
        self._b_after_other = self._i_after_other = False

    def add(self, tags: Iterable[str]) -> None:
        previous = ""
        for tag in tags:
            letter, dash, label = tag.partition("-")
            if dash and letter in {"B", "I", "E", "S", "L", "U", "M"}:
                self._letters.add(letter)
                self._b_after_other |= letter == "B" and label != previous
                self._i_after_other |= letter == "I" and label != previous
            previous = label

    def scheme(self) -> str:
        """IOB1 writes B only between neighbors of one type; all other schemes have letters of their own."""
        if self._letters <= {"B", "I"}:
            return "IOB1" if self._i_after_other and not self._b_after_other else "IOB2"
        for name in ("BIOES", "BILOU", "BMES"):
            if self._letters <= set(_READ[name]):
                return name
        raise FormatError(
            f"the tag prefixes {', '.join(sorted(self._letters))} fit no scheme of {', '.join(SCHEMES)}; "
            f"correct the tags, or name the scheme and skip bad records."
        )
