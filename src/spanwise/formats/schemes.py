"""Tag schemes: entities as one tag per word. Known are IOB1, IOB2, BIOES, BILOU, BMES and IO."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from spanwise.errors import FormatError
from spanwise.formats.fields import short_repr
from spanwise.formats.tokens import WordSpan

# How each scheme writes the first, an inner, the last and the only word of an entity.
_LETTERS = {"IOB1": "IIII", "IOB2": "BIIB", "BIOES": "BIES", "BILOU": "BILU", "BMES": "BMES", "IO": "IIII"}
_READ = {
    "IOB1": {"B": "B", "I": "I"},
    "IOB2": {"B": "B", "I": "I"},
    **{name: dict(zip(_LETTERS[name], "BIES", strict=True)) for name in ("BIOES", "BILOU", "BMES")},
    "IO": {"I": "I"},
}
SCHEMES = tuple(_LETTERS)
_ALIASES = {"BIO": "IOB2", "IOBES": "BIOES", "BIOLU": "BILOU"}
_PREFIXED = re.compile(r"([BIESLUM])-(.+)", re.DOTALL)
_BARE = re.compile(r"(?!O$|[BIESLUM]-)[^\W\d_].*", re.DOTALL)  # a label as its own tag, which only IO has
_MOST_LABELS = 500


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


def letters(scheme: str) -> list[str]:
    """The letters of a scheme's tags, each once."""
    return list(dict.fromkeys(_LETTERS[scheme] if scheme != "IOB1" else "BI"))


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


def merged_in_io(spans: Iterable[WordSpan]) -> int:
    """How many entities follow one of their own label without a word between: IO has no tag that parts them."""
    return sum(one.last == two.first and one.label == two.label for one, two in pairwise(sorted(spans)))


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
            repairs += letter == "E" or (letter == "I" and scheme not in {"IOB1", "IO"})
            start, current = index, label
        if letter in {"E", "S"}:
            spans.append(WordSpan(start, index + 1, label))
            start = -1
    return spans, repairs


def _split(tag: str, scheme: str, index: int) -> tuple[str, str]:
    """A tag's letter, as BIOES would write it, and its label."""
    if tag == "O":
        return "O", ""
    if scheme == "IO" and _BARE.fullmatch(tag):
        return "I", tag
    prefixed = _PREFIXED.fullmatch(tag)
    if not prefixed or prefixed[1] not in _READ[scheme]:
        known = ", ".join([*(f"{letter}-TYPE" for letter in _READ[scheme]), *(["TYPE"] if scheme == "IO" else []), "O"])
        name = "name the file's scheme" + (" (IO has tags without a prefix)" if _BARE.fullmatch(tag) else "")
        raise TagError(f"the tag {short_repr(tag)} is not one of {scheme} ({known}); correct it, or {name}.", index)
    return _READ[scheme][prefixed[1]], prefixed[2]


class SchemeDetector:
    """Looks at tags and says which scheme they follow."""

    def __init__(self) -> None:
        self._letters: set[str] = set()
        self._bare: Counter[str] = Counter()
        self._outside = self._b_after_other = self._i_after_other = self._unknown = False

    @property
    def any_entity(self) -> bool:
        """Whether there was any tag but O."""
        return bool(self._letters or self._bare or self._unknown)

    def add(self, tags: Iterable[str]) -> None:
        previous = ""
        for tag in tags:
            prefixed = _PREFIXED.fullmatch(tag)
            letter, label = prefixed.groups() if prefixed else ("", "")
            if prefixed:
                self._letters.add(letter)
                self._b_after_other |= letter == "B" and label != previous
                self._i_after_other |= letter == "I" and label != previous
            elif tag == "O":
                self._outside = True
            else:
                self._add_bare(tag)
            previous = label

    def _add_bare(self, tag: str) -> None:
        if _BARE.fullmatch(tag) and len(self._bare) < _MOST_LABELS:
            self._bare[tag] += 1
        else:
            self._unknown = True

    def scheme(self) -> str:
        """IOB1 writes B only between neighbors of one type; all other schemes have letters of their own, or none."""
        if self.has_bare_labels():
            return "IO"
        if self._letters <= {"B", "I"}:
            return "IOB1" if self._i_after_other and not self._b_after_other else "IOB2"
        for name in ("BIOES", "BILOU", "BMES"):
            if self._letters <= set(_READ[name]):
                return name
        raise FormatError(
            f"the tag prefixes {', '.join(sorted(self._letters))} fit no scheme of {', '.join(SCHEMES)}; "
            f"correct the tags, or name the scheme and skip bad records."
        )

    def has_bare_labels(self) -> bool:
        """Whether the tags are O and labels that repeat: words that are no labels do so less."""
        repeated = 0 < 2 * len(self._bare) <= self._bare.total()
        return repeated and self._outside and not self._letters and not self._unknown
