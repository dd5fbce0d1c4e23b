"""Split raw text into words with offsets. One regular expression covers every script.

When in doubt, the rules split. A model labels whole words: it cannot find an entity that starts or ends inside a word,
but an extra split does no harm. docs/words.md lists the rules with examples.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

from spanwise.document import Offsets

MAX_WORD = 256
"""The longest word in characters; a longer run (base64, a line of dashes) is cut, or no encoder could hold it."""

# Abbreviations that keep their period.
_ABBREVIATIONS = (
    "Mr|Mrs|Ms|Mme|Dr|Prof|Rev|Hon|St|Jr|Sr|Gen|Gov|Sen|Rep|Lt|Col|Capt|Sgt|Adm|Maj|Cmdr|Pres|Messrs|"
    "Inc|Ltd|Corp|Co|Bros|vs|etc|al|approx"
)
# Scripts written without spaces: every character, with its marks, is a word.
_CJK = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
    "\U00016ff0-\U00018cff\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
_SOUTH_EAST_ASIAN = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0eb9\u0ebb-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
)
_UNSPACED = _CJK + _SOUTH_EAST_ASIAN
# Rare and ancient scripts outside the Basic Multilingual Plane (BMP). Every character of their blocks is a letter.
_HIGHER_PLANE_SCRIPTS = "\U00010000-\U00016fef\U00018d00-\U0001afef\U0001b170-\U0001efff"
# Zero-width joiners, soft hyphen, word joiner, half-width voicing marks: they stay with the character before them.
_CLINGING = "\u00ad\u034f\u200c\u200d\u2060\uff9e\uff9f"
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001faff"
)
_EMOJI_EXTENSION = "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
_TOP_LEVEL_DOMAINS = "com|org|net|edu|gov|mil|info|biz|io|co|uk|eu|ru|cn|jp"
_ELISIONS = "[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quelqu|dell|nell|dall|sull|all|un|quest|quell"


def segment(text: str) -> tuple[Offsets, ...]:
    """The words of a text, from left to right. Together they cover every character that is not white space."""
    spans = (match.span() for match in _word_pattern().finditer(text))
    return tuple(map(Offsets._make, _within_limit(spans)))


def detect_script(text: str) -> str:
    """The most frequent script: "latin", "cjk" (Chinese and Japanese), "arabic", …; "none" without letters."""
    counts: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if character.isalpha():
            name = unicodedata.name(character, "UNKNOWN").split()[0].lower()
            counts["cjk" if name in ("cjk", "hiragana", "katakana", "ideographic") else name] += count
    return counts.most_common(1)[0][0] if counts else "none"


def _within_limit(spans: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for start, end in spans:
        while end - start > MAX_WORD:
            yield start, start + MAX_WORD
            start += MAX_WORD
        yield start, end


def _ranges(belongs: Callable[[str], bool]) -> str:
    """The BMP characters for which `belongs` is true, as the body of a regular expression's character class."""
    ranges: list[list[int]] = []
    for code in range(0x10000):
        if not belongs(chr(code)):
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in ranges)


@cache  # built on first use: it takes 0.1 s, and documents with given words do not need it
def _word_pattern() -> re.Pattern[str]:
    """The rules in order of precedence. Their backtracking is bounded, so that matching takes linear time."""
    without_spaces = re.compile(f"[{_UNSPACED}]")
    mark = _ranges(lambda c: c in _CLINGING or unicodedata.category(c)[0] == "M") + "\U000e0100-\U000e01ef"
    base = _ranges(lambda c: c.isalnum() and c not in _CLINGING and not without_spaces.match(c)) + _HIGHER_PLANE_SCRIPTS
    w = f"[{base}{mark}]"  # a letter or digit of a script with spaces, or a combining mark
    letter = f"[^\\W\\d_{_UNSPACED}]"
    hebrew = "[\u05d0-\u05ea]"
    clitic = f"['’](?i:s|m|re|ve|ll|d)(?!{w})"
    url_tail = f"(?:[{base}{mark}/_~=&%+$*-]|[.,:;?!@#()\\[\\]'|]++(?=[{base}/_~=&%+$*-]))"
    word_rules = (
        "[0-9]\ufe0f?\u20e3",  # key caps
        f"(?i:https?://|ftp://|www\\.){url_tail}++",
        f"[{base}{mark}._%+-]{{1,64}}+@(?:[{base}-]{{1,63}}+\\.){{1,8}}{letter}{{2,24}}+",
        f"(?:[{base}-]{{1,63}}+\\.){{1,8}}(?i:{_TOP_LEVEL_DOMAINS})(?!{w})(?:[/?]{url_tail}*+)?",
        "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?![0-9])",
        f"{letter}(?:\\.{letter})+(?!{w})\\.?",  # U.S., e.g.
        f"(?:{_ABBREVIATIONS})\\.(?!\\.)",
        f"(?={w}++['’][tT])(?:{w}+(?=[nN]['’][tT](?!{w}))|[nN]['’][tT](?!{w}))",  # do n't
        f"(?i:{_ELISIONS})(?!{clitic})['’](?={letter})",
        f"{w}++(?:(?:(?!{clitic})['’]|_++|(?<=[0-9])[.,:/](?=[0-9])|(?<={hebrew})[\"״׳](?={hebrew})){w}++)*+",
    )
    rules = (
        f"(?=[{base}])(?:{'|'.join(word_rules)})",
        f"[{_UNSPACED}]",
        f"(?<={w}){clitic}",
        f"[#@](?=[{base}])[{base}{mark}_]++",
        r"\.{2,}+|-{2,}+|[!?]{2,}+|_++|={2,}+|\*{2,}+|~{2,}+|\+{2,}+|''|``",
        "[\U0001f1e6-\U0001f1ff]{2}",  # flags
        f"[{_EMOJI}][{mark}{_EMOJI_EXTENSION}]*+(?:(?<=\u200d)[{_EMOJI}][{mark}{_EMOJI_EXTENSION}]*+)*+",
        r"\S",
    )
    return re.compile(f"(?:{'|'.join(rules)})[{mark}]*+")  # marks stay with the character before them
