"""OntoNotes in the columns of CoNLL 2012 (`*_gold_conll`): the fourth column is the word, the eleventh its entity.

An entity opens with `(PERSON*` and closes with `*)`; `(GPE)` is one of a single word. Each sentence is a document.
"""

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

MAX_SENTENCE = 1_000_000
_ENDING = "gold_conll"
_COLUMNS, _WORD, _ENTITY = 12, 3, 10
_BEGIN = re.compile(r"#begin document \((?P<name>[^()]+)\);? part (?P<part>\d+)")
_SEPARATOR = re.compile(r"[ \t]+")
_CELL = re.compile(r"(?P<opened>(?:\([^()*\s]+)*)(?P<star>\*?)(?P<closed>\)*)")
_MISSING_WORD = "[WORD]"  # in files whose words the licensed treebank must fill in
_NOT_ANNOTATED = "pt/"  # the New Testament, which has no names


class _Sentence(NamedTuple):
    """The lines of a sentence, and its place: the document, its part and the number in it."""

    key: str
    number: int
    lines: list[Line]


def _matches(probe: Probe) -> bool:
    first = next((line for line in probe.lines if line.strip()), "")
    return first.startswith("#begin document ") or holds(probe.path, (_ENDING,))


def _sentences(reader: Reader, keys: DocumentKeys) -> Iterator[tuple[int, _Sentence]]:
    key, number, lines = "", 0, list[Line]()
    for line in reader.lines():
        text = line.raw.strip()
        if text and not text.startswith(b"#"):
            if len(lines) <= MAX_SENTENCE:
                lines.append(line)
            continue
        if lines:
            yield lines[0].number, _Sentence(key, number, lines)
            number, lines = number + 1, []
        if text:
            key, number = _key(line, key), 0
            if key:
                keys.add(key, reader.name, line.number)
    if lines:
        yield lines[0].number, _Sentence(key, number, lines)
    if key:
        raise FormatError("the file ends inside a document, without #end document; it is cut off.", reader.name)


def _key(line: Line, key: str) -> str:
    """The document that follows a line with a hash sign: a new one, or none."""
    text = line.raw.decode(errors="replace").strip()
    if text == "#end document" and key:
        return ""
    begin = _BEGIN.fullmatch(text)
    if begin is None or key:
        raise FormatError(
            f"{short_repr(text)} is not '#begin document (name); part 000' or '#end document', one after the other.",
            line=line.number,
        )
    return f"{begin['name']}-{int(begin['part'])}"


def _parse(sentence: _Sentence, chinese: bool) -> Iterator[Document]:
    if not sentence.key:
        raise FormatError("the sentence lies outside #begin document and #end document; add them.")
    if len(sentence.lines) > MAX_SENTENCE:
        raise FormatError(f"the sentence has more than {MAX_SENTENCE:,} words; end sentences with a blank line.")
    rows = [_row(line) for line in sentence.lines]
    words: list[str] = [word for word, _ in rows]
    spans = _spans([cell for _, cell in rows], sentence.lines)
    yield sentence_document(words, spans, sentence.key, sentence.number, chinese=chinese)


def _cells(line: str) -> list[str]:
    """The columns of a line; a word may hold any other space that Unicode knows."""
    return _SEPARATOR.split(line.strip(" \t"))


def _row(line: Line) -> tuple[str, str]:
    cells = _cells(line.decode())
    if len(cells) < _COLUMNS:
        raise FormatError(
            f"the line has {len(cells)} columns, but CoNLL 2012 has at least {_COLUMNS}; correct it.", line=line.number
        )
    if cells[_WORD] == _MISSING_WORD:
        raise FormatError(
            f"the word is {_MISSING_WORD}: the file is a skeleton; fill in the words with the scripts of the corpus.",
            line=line.number,
        )
    return cells[_WORD], cells[_ENTITY]


def _spans(cells: list[str], lines: list[Line]) -> list[WordSpan]:
    found: list[WordSpan] = []
    opened: list[tuple[int, str]] = []
    for index, cell in enumerate(cells):
        match = _CELL.fullmatch(cell)
        if match is None or not (match["star"] or (match["opened"] and match["closed"])):
            raise FormatError(
                f"{short_repr(cell)} in column {_ENTITY + 1} is not '(PERSON*', '*', '*)', '(GPE)' or the like.",
                line=lines[index].number,
            )
        opened += [(index, label) for label in match["opened"].split("(")[1:]]
        for _ in match["closed"]:
            if not opened:
                raise FormatError("an entity ends here that has not begun; correct it.", line=lines[index].number)
            first, label = opened.pop()
            found.append(WordSpan(first, index + 1, label))
    if opened:
        line = lines[opened[-1][0]].number
        raise FormatError("the entity that begins here does not end in its sentence; correct it.", line=line)
    return sorted(found, key=lambda span: (span.first, -span.last))


def _read(reader: Reader) -> Iterator[Document]:
    kept, skipped, bad, keys = 0, 0, reader.report.bad, DocumentKeys()
    found = sources(reader, (_ENDING,))
    parse = partial(_parse, chinese=is_chinese((_scripts(source.path) for source in found), reader))
    for source in found:
        beside = replace(reader, path=source.path)
        try:
            for document in beside.documents(_sentences(beside, keys), parse):
                if document.id.startswith(_NOT_ANNOTATED):
                    skipped += 1
                else:
                    kept += 1
                    yield document
        except FormatError as error:
            raise beside.with_location(error, None) from None
    if skipped and not kept and reader.report.bad == bad:
        raise FormatError(
            f"all sentences are of {_NOT_ANNOTATED}, which is not annotated for names; give other files of the corpus.",
            reader.name,
        )
    if skipped:
        sentences = counted(skipped, f"sentence of {_NOT_ANNOTATED} is", f"sentences of {_NOT_ANNOTATED} are")
        reader.note(f"{sentences} not read, because {_NOT_ANNOTATED} is not annotated for names")


def _scripts(path: Path) -> Counter[str]:
    rows = [_cells(line) for line in Probe.of(path).lines if not line.startswith("#")]
    return scripts(row[_WORD] for row in rows if len(row) >= _COLUMNS)


CONLL_2012 = Format(
    name="conll-2012",
    matches=_matches,
    read=_read,
    write=None,
    needs_words=True,
    example="bn/abc_0001 0 0 Ann NNP (S* - - - Speaker (PERSON) -",
    is_folder=True,
)
