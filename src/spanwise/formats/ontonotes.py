"""The `.name` files of OntoNotes: a sentence per line, with names in ENAMEX tags. Each sentence is a document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from spanwise.document import Document
from spanwise.errors import FormatError
from spanwise.formats.base import Format, Probe
from spanwise.formats.chinese import is_chinese, scripts, sentence_document
from spanwise.formats.fields import short_repr
from spanwise.formats.listing import DocumentKeys, holds, sources
from spanwise.formats.reading import Line, Reader
from spanwise.formats.tokens import WordSpan
from spanwise.plural import counted

_ENDING = ".name"
_DOC = re.compile(r'<DOC DOCNO="(?P<name>[^"@]+)(?:@(?P<part>\d+))?[^"]*">')
_MARK = re.compile(r"<(?P<close>/?)(?P<kind>[A-Z]+)(?P<attributes>[^<>]*)>")
_NAMES = ("ENAMEX", "TIMEX", "NUMEX")
_TYPE = re.compile(r'\sTYPE="([^"]+)"')
_PART_OF_WORD = re.compile(r'\s[SE]_OFF="')
_ESCAPES = {"-LAB-": "<", "-RAB-": ">", "-AMP-": "&", "&lt;": "<", "&gt;": ">", "&amp;": "&"}
_ESCAPE = re.compile("|".join(_ESCAPES))


class _Sentence(NamedTuple):
    key: str
    number: int
    line: Line


def _matches(probe: Probe) -> bool:
    first = next((line for line in probe.lines if line.strip()), "")
    return _DOC.match(first.strip()) is not None or holds(probe.path, (_ENDING,))


def _sentences(reader: Reader, keys: DocumentKeys) -> Iterator[tuple[int, _Sentence]]:
    key, number = "", 0
    for line in reader.lines():
        text = line.raw.decode(errors="replace").strip()
        if begin := _DOC.fullmatch(text):
            if key:
                raise FormatError("a document begins inside another; close it with </DOC>.", line=line.number)
            key, number = f"{begin['name']}-{int(begin['part'] or 0)}", 0
            keys.add(key, reader.name, line.number)
        elif text == "</DOC>":
            key = ""
        elif text:
            if not key:
                raise FormatError('the sentence lies outside <DOC DOCNO="…"> and </DOC>.', line=line.number)
            yield line.number, _Sentence(key, number, line)
            number += 1
    if key:
        raise FormatError("the file ends inside a document, without </DOC>; it is cut off.", reader.name)


def _parse(sentence: _Sentence, chinese: bool, widened: list[int]) -> Iterator[Document]:
    words, spans, parts = _tokens(sentence.line.decode())
    if not words:
        return
    yield sentence_document(words, spans, sentence.key, sentence.number, chinese=chinese)
    widened[0] += parts


def _tokens(text: str) -> tuple[list[str], list[WordSpan], int]:
    """The words of a line and the names over them, and how many names say that they are a part of their words."""
    words: list[str] = []
    spans: list[WordSpan] = []
    opened: list[tuple[int, str, str]] = []
    cursor = parts = 0
    for mark in _MARK.finditer(text):
        if mark["kind"] != "TURN" and mark["kind"] not in _NAMES:
            raise FormatError(f'{short_repr(mark[0])} is not a name such as <ENAMEX TYPE="PERSON">; correct it.')
        words += _words(text[cursor : mark.start()])
        cursor = mark.end()
        if mark["kind"] == "TURN":
            continue
        if not mark["close"]:
            opened.append((len(words), _label(mark), mark["kind"]))
            parts += _PART_OF_WORD.search(mark["attributes"]) is not None
        else:
            spans.append(_closed(opened, mark, len(words)))
    if opened:
        raise FormatError(f"the name of type {short_repr(opened[-1][1])} is not closed in its line; correct it.")
    return [*words, *_words(text[cursor:])], sorted(spans, key=lambda span: (span.first, -span.last)), parts


def _label(mark: re.Match[str]) -> str:
    kind = _TYPE.search(mark["attributes"])
    if kind is None:
        raise FormatError(f"{short_repr(mark[0])} has no TYPE; add it.")
    return kind[1]


def _closed(opened: list[tuple[int, str, str]], mark: re.Match[str], end: int) -> WordSpan:
    if not opened or opened[-1][2] != mark["kind"] or opened[-1][0] == end:
        raise FormatError(f"{short_repr(mark[0])} closes no name, or an empty one; correct it.")
    first, label, _ = opened.pop()
    return WordSpan(first, end, label)


def _words(text: str) -> list[str]:
    if "<" in text or ">" in text:
        raise FormatError(f"{short_repr(text)} holds a bracket outside a tag; OntoNotes writes -LAB- and -RAB-.")
    return [_ESCAPE.sub(lambda match: _ESCAPES[match[0]], word) for word in text.split()]


def _read(reader: Reader) -> Iterator[Document]:
    widened, keys = [0], DocumentKeys()
    found = sources(reader, (_ENDING,))
    chinese = is_chinese((_scripts(source.path) for source in found), reader)
    parse = partial(_parse, chinese=chinese, widened=widened)
    for source in found:
        beside = replace(reader, path=source.path)
        try:
            yield from beside.documents(_sentences(beside, keys), parse)
        except FormatError as error:
            raise beside.with_location(error, None) from None
    if widened[0]:
        names = counted(widened[0], "name is part of a word", "names are part of a word")
        reader.note(f"{names} (S_OFF, E_OFF) and read as whole words")


def _scripts(path: Path) -> Counter[str]:
    return scripts(_MARK.sub(" ", " ".join(Probe.of(path).lines)).split())


ONTONOTES = Format(
    name="ontonotes",
    matches=_matches,
    read=_read,
    write=None,
    needs_words=True,
    example='<ENAMEX TYPE="PERSON">Ann</ENAMEX> left .',
    is_folder=True,
)
