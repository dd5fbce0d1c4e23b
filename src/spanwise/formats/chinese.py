"""Chinese text whose files hold words: it is read without spaces, with its characters as words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from spanwise.document import Document
from spanwise.formats.reading import Reader
from spanwise.formats.tokens import WordSpan
from spanwise.plural import counted

# Chinese and Japanese characters with their punctuation.
CJK = re.compile("[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003134f]")

# The same without punctuation and wide Latin letters, which other texts may hold as well.
_LETTER = re.compile("[\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")


_SCRIPTS = {
    "Chinese": _LETTER,
    "Arabic": re.compile("[\u0620-\u064a\u0671-\u06d3\u0750-\u077f]"),
    "Latin": re.compile("[A-Za-z\u00c0-\u024f]"),
}


def count_characters(words: Iterable[str]) -> int:
    """How many of the words are one Chinese or Japanese character."""
    return sum(len(word) == 1 and CJK.match(word) is not None for word in words)


def word_joiner(characters: int, words: int) -> str:
    """What stands between the words of a text, by how many of them are single characters."""
    return "" if characters * 2 > words else " "


def joiner_of(words: Iterable[str]) -> str:
    """What stands between these words."""
    listed = list(words)
    return word_joiner(count_characters(listed), len(listed))


def scripts(words: Iterable[str]) -> Counter[str]:
    """How many words are written in each script; words without a letter, such as numbers, are in none."""
    found = (next((name for name, letter in _SCRIPTS.items() if letter.search(word)), None) for word in words)
    return Counter(name for name in found if name)


def is_chinese(files: Iterable[Counter[str]], reader: Reader) -> bool:
    """Whether most words of a corpus are Chinese, by the scripts of its files; a note says where files differ."""
    words, main = Counter[str](), Counter[str]()
    for file in files:
        words += file
        main.update(name for name, _ in file.most_common(1))
    chinese = 2 * words["Chinese"] > words.total()
    if len(main) > 1:
        found = ", ".join(counted(number, f"{name} file") for name, number in main.most_common())
        how = "characters without spaces" if chinese else "words with spaces"
        reader.note(f"the files mix languages ({found}) and are all read as {how}; read one language at a time")
    return chinese


def as_characters(words: Sequence[str], spans: Iterable[WordSpan]) -> tuple[list[str], list[WordSpan]]:
    """Words as their characters, and the spans over them."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return list("".join(words)), [WordSpan(starts[first], starts[last], label) for first, last, label in spans]


def sentence_document(
    words: Sequence[str], spans: Iterable[WordSpan], key: str, number: int, *, chinese: bool
) -> Document:
    """A sentence of OntoNotes; its metadata name its document and its number there."""
    if chinese:
        words, spans = as_characters(words, spans)
    return Document.from_words(
        words,
        spans,
        joiner="" if chinese else " ",
        id=f"{key}#{number}",
        metadata={"doc_key": key, "sentence": number},
    )
