"""Chinese text whose files hold words: it is read without spaces, with its characters as words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from spanwise.formats.tokens import WordSpan

# Chinese and Japanese characters with their punctuation.
CJK = re.compile("[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003134f]")

# The same without punctuation and wide Latin letters, which other texts may hold as well.
_LETTER = re.compile("[\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")


def is_chinese(words: Iterable[str]) -> bool:
    """Whether more than half of the words hold a Chinese or Japanese letter."""
    found = [_LETTER.search(word) is not None for word in words]
    return 2 * sum(found) > len(found)


def as_characters(words: Sequence[str], spans: Iterable[WordSpan]) -> tuple[list[str], list[WordSpan]]:
    """Words as their characters, and the spans over them."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return list("".join(words)), [WordSpan(starts[first], starts[last], label) for first, last, label in spans]
