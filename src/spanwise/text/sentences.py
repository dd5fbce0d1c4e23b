"""Rule-based sentence starts. Windows over long text start and end there, where a border does the least harm."""

from __future__ import annotations

import re
from collections.abc import Sequence

from spanwise.document import Offsets
from spanwise.text.words import segment

SHORT_LINE = 8
"""A line of at most this many words, before a line that starts with a capital, is taken as a heading."""

_ENDS_ALWAYS = re.compile(r"[。！？｡．।॥؟۔։]+")  # need no space after them, and the next word has no case
_ENDS = re.compile(r"[.!?…]+")
_CLOSING = frozenset("\"'”’»)]}）】」』》〉〗″") | {"''"}
_OPENING = frozenset("\"'“‘«([{（【「『《〈〖-–—•*¿¡") | {"``"}
_BULLETS = frozenset("-–—•*·▪◦‣")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n|\u2029|\f")
_LINE_END = re.compile(r"[\n\r\u2028\x85]")
# A period after these never ends a sentence.
_TITLES = """
    Mr Mrs Ms Mme Dr Prof Rev Hon St Gen Gov Sen Rep Lt Col Capt Sgt Adm Maj Cmdr Pres Messrs Mt Ft Ph vs approx
    Fig Figs fig figs Eq Eqs eq No Nos Vol vol pp Sec Sect Ch ch cf Cf Ref Refs ref refs ed eds viz e.g i.e E.g I.e
    Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec
"""
# After an abbreviation that may end a sentence (Inc., U.S.), one of these words starts a new sentence.
_OPENERS = """
    The A An This That These Those It Its He She They We I You His Her Their Our My There Here In On At As If When
    While After Before Since Because Although Though However But And So Then Thus For From With To By No Not What Who
    Why How
"""
_NEVER_LAST = frozenset(_TITLES.split())
_USUAL_FIRST = frozenset(_OPENERS.split())

LONG_SENTENCE = 64
"""Words of the longest text that is taken for one sentence without a look at it."""


def count_sentences(text: str, words: Sequence[Offsets]) -> int:
    """The number of sentences of a text with these words; 1 for a text that may be a single one."""
    if len(words) <= LONG_SENTENCE:
        return 1
    return max(len(sentence_starts(text, words)), -(-len(words) // LONG_SENTENCE))


def first_sentences(text: str, number: int) -> str:
    """The first `number` sentences of a text."""
    words = segment(text)
    starts = sentence_starts(text, words)
    return text if len(starts) <= number else text[: words[starts[number]].start].rstrip()


def sentence_starts(text: str, words: Sequence[Offsets]) -> list[int]:
    """The indices of the words that start a sentence, in ascending order; the first word always does."""
    starts: list[int] = []
    line = 0
    for index in range(len(words)):
        gap = text[words[index - 1].end : words[index].start] if index else "\n\n"
        new_line = _LINE_END.search(gap) is not None
        if _BLANK_LINE.search(gap) or (
            _line_starts_sentence(text, words, line, index)
            if new_line
            else _sentence_ended(text, words, starts[-1], index, gap != "")
        ):
            starts.append(index)
        if new_line:
            line = index
    return starts


def _line_starts_sentence(text: str, words: Sequence[Offsets], line: int, index: int) -> bool:
    """Whether the word after a line break starts a sentence: after a terminator or a heading, or as a list item."""
    last = _last_before_closing(text, words, index)
    if _text(text, words[last]) in _BULLETS or _text(text, words[index]) in _BULLETS:
        return _text(text, words[index]) in _BULLETS
    ending = _text(text, words[last])
    if _ENDS_ALWAYS.fullmatch(ending) or _ENDS.fullmatch(ending) or ending == ":":
        return True
    return index - line <= SHORT_LINE and ending != "," and not _is_lower(text, words, index)


def _sentence_ended(text: str, words: Sequence[Offsets], start: int, index: int, spaced: bool) -> bool:
    """Whether the sentence that began at word `start` ended before word `index` of the same line."""
    if not spaced and _text(text, words[index]) in _CLOSING:
        return False
    last = _last_before_closing(text, words, index)
    ending = _text(text, words[last])
    if _ENDS_ALWAYS.fullmatch(ending):
        return not _is_terminator(_text(text, words[index]))
    if not spaced or last < start or _is_lower(text, words, index) or _is_terminator(_text(text, words[index])):
        return False
    if _ENDS.fullmatch(ending):
        return ending != "." or not _belongs_to_abbreviation(text, words, start, last)
    if len(ending) > 1 and ending.endswith("."):  # Dr., Inc., U.S.
        return ending[:-1] not in _NEVER_LAST and len(ending) > 2 and _text(text, words[index]) in _USUAL_FIRST
    return False


def _belongs_to_abbreviation(text: str, words: Sequence[Offsets], start: int, stop: int) -> bool:
    """Whether the period at word `stop` follows an initial, a title or the number of a list item."""
    if stop == start or words[stop - 1].end != words[stop].start:
        return False  # pre-segmented text: a period separated from the word before it ends a sentence
    before = _text(text, words[stop - 1])
    if stop - 1 == start and (before.isdigit() or len(before) == 1):
        return True
    return before in _NEVER_LAST or (len(before) == 1 and before.isupper())


def _last_before_closing(text: str, words: Sequence[Offsets], index: int) -> int:
    """The index of the word before `index`, skipping up to three closing quotes and brackets."""
    last = index - 1
    while last > 0 and index - last <= 3 and _text(text, words[last]) in _CLOSING:
        last -= 1
    return last


def _is_lower(text: str, words: Sequence[Offsets], index: int) -> bool:
    """Whether the next word, after opening quotes and brackets, starts in lower case."""
    for offsets in words[index : index + 3]:
        word = _text(text, offsets)
        if word not in _OPENING:
            return word[0].islower()
    return False


def _is_terminator(word: str) -> bool:
    return bool(_ENDS.fullmatch(word) or _ENDS_ALWAYS.fullmatch(word)) or word in ",;:，；：、"


def _text(text: str, offsets: Offsets) -> str:
    return text[offsets.start : offsets.end]
