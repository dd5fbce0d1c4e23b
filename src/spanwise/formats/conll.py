"""CoNLL columns: one word a line, its tag last or in columns that are named, a blank line after each sentence."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from spanwise.document import Document
from spanwise.errors import FormatError
from spanwise.formats import schemes
from spanwise.formats.base import Format, Probe
from spanwise.formats.chinese import CJK, count_characters, joiner_of, word_joiner
from spanwise.formats.fields import short_repr
from spanwise.formats.foreign import is_header
from spanwise.formats.reading import Line, Reader
from spanwise.formats.tokens import WordSpan, align_to_words, count_spacing, flattened, word_spans
from spanwise.formats.writing import Writer, guard_bom
from spanwise.plural import counted
from spanwise.text.sentences import sentence_starts

MAX_SENTENCE = 1_000_000
_TAG = re.compile(r"O|[BIESLUM]-.+")
_NUMBERED = re.compile(r"[^\t]+\d\t")
_DOCSTART = re.compile(r"-DOCSTART-([ \t]|$)")
_DOCSTART_LINE = re.compile(_DOCSTART.pattern.encode())
_BREAKS = re.compile(r"[\t\r\n]")


class _Row(NamedTuple):
    """The token of a line, its tags, one for each column that is read, and all of its cells."""

    token: str
    tags: list[str]
    cells: list[str]


@dataclass(frozen=True)
class Layout:
    """How a file is laid out. `numbered`: each token ends in a digit that is no part of it, as in Weibo NER.

    `tags` are the columns that hold tags, as indices, each with its scheme.
    """

    separator: str
    numbered: bool
    tags: Mapping[int, str]
    joiner: str = " "

    def row(self, line: Line) -> _Row:
        cells = self._cells(line)
        if len(cells) <= max(self.tags):
            raise FormatError(
                f"the line has {len(cells)} columns, but column {max(self.tags) + 1} should hold a tag; "
                f"correct the line, or name other columns.",
                line=line.number,
            )
        tags = [cells[column] for column in self.tags]
        if not self.numbered:
            return _Row(cells[0], tags, cells)
        if len(cells[0]) < 2 or not cells[0][-1].isdigit():
            raise FormatError(
                f"the token {short_repr(cells[0])} does not end in a digit; read the file as 'conll'.", line=line.number
            )
        return _Row(cells[0][:-1], tags, cells)

    def _cells(self, line: Line) -> list[str]:
        text = line.decode().rstrip(" \t")
        cells = text.split("\t") if self.separator == "\t" else re.split(" +", text)
        if len(cells) < 2 or not cells[0]:
            kind = "tabs" if self.separator == "\t" else "spaces"
            raise FormatError(
                f"{short_repr(text)} is not a token and a tag with {kind} between them; add the column.",
                line=line.number,
            )
        return cells


class _Sentence(NamedTuple):
    """The lines of a sentence; the document it belongs to, 0 where the file marks none, and its number in that."""

    lines: list[Line]
    document: int
    number: int

    def metadata(self, file: str) -> dict[str, Any]:
        return {"doc_key": f"{file}-{self.document}", "sentence": self.number} if self.document else {}


def _sentences(reader: Reader) -> Iterator[tuple[int, _Sentence]]:
    lines: list[Line] = []
    document = number = 0
    for line in reader.lines():
        marks = _DOCSTART_LINE.match(line.raw) is not None
        if line.raw.strip() and not marks:
            if len(lines) <= MAX_SENTENCE:
                lines.append(line)
            continue
        if lines:
            yield lines[0].number, _Sentence(lines, document, number)
            lines, number = [], number + 1
        if marks:
            document, number = document + 1, 0
    if lines:
        yield lines[0].number, _Sentence(lines, document, number)


class _Survey:
    """What one pass over a file says: its schemes, its other columns, and whether its tokens are Chinese characters."""

    def __init__(self, columns: tuple[int, ...]) -> None:
        self.detectors = {column: schemes.SchemeDetector() for column in columns}
        self.tokens = self.characters = 0
        self.width = 0
        self._others: dict[int, str] = {}  # columns with nothing but tags, and one of their tags
        self._without_tags: set[int] = set()

    def add(self, layout: Layout, sentence: list[Line]) -> None:
        rows = list(_readable(layout, sentence))
        for index, detector in enumerate(self.detectors.values()):
            detector.add(row.tags[index] for row in rows)
        self.tokens += len(rows)
        self.characters += count_characters(row.token for row in rows)
        for row in rows:
            self._look_at_others(row.cells)

    def _look_at_others(self, cells: list[str]) -> None:
        self.width = max(self.width, len(cells))
        read = {column % len(cells) for column in self.detectors}
        for column in range(1, len(cells)):
            if column in read or column in self._without_tags:
                continue
            if not _TAG.fullmatch(cells[column]):
                self._without_tags.add(column)
                self._others.pop(column, None)
            elif cells[column] != "O":
                self._others.setdefault(column, cells[column])

    @property
    def any_entity(self) -> bool:
        return any(detector.any_entity for detector in self.detectors.values())

    def unread(self) -> str:
        """A sentence about columns with tags that are not read; empty without any."""
        if not self._others:
            return ""
        named = " and ".join(f"column {column + 1} ({short_repr(tag)})" for column, tag in sorted(self._others.items()))
        return f"{named} also holds tags, which are not read; name every column to read (--tag-columns, tag_columns)"


def _detect_layout(reader: Reader, numbered: bool) -> Layout:
    """Look through the file once."""
    columns = _tag_columns(reader.tag_columns)
    survey, separator = _Survey(columns), ""
    for _, (sentence, _, _) in _sentences(reader):
        separator = separator or ("\t" if any(b"\t" in line.raw for line in sentence) else " ")
        if not survey.tokens:
            _refuse_header(sentence[0], separator)
        survey.add(Layout(separator, numbered, dict.fromkeys(columns, "")), sentence)
    joiner = "" if numbered else word_joiner(survey.characters, survey.tokens)
    if not joiner:
        reader.note("characters joined without spaces (detected)")
    if not reader.tag_columns:
        _check_columns(survey, reader)
    return Layout(separator, numbered, _schemes(survey, reader), joiner)


def _refuse_header(line: Line, separator: str) -> None:
    text = line.raw.decode(errors="replace")
    if is_header(text.split(separator)):
        raise FormatError(
            f"the first line is a header ({short_repr(text)}), which CoNLL files have not; remove it.", line=line.number
        )


def _tag_columns(named: tuple[int, ...]) -> tuple[int, ...]:
    """The indices of the columns that hold tags: the last one where none is named."""
    if wrong := [column for column in named if column < 2]:
        raise FormatError(
            f"column {wrong[0]} cannot hold tags: columns count from 1, and the first is the word; name others."
        )
    return tuple(dict.fromkeys(column - 1 for column in named)) or (-1,)


def _check_columns(survey: _Survey, reader: Reader) -> None:
    """Refuse a file whose last column says nothing, and whose other columns may; note other columns with tags."""
    unread = survey.unread()
    if survey.tokens and survey.width > 2 and not survey.any_entity:
        raise FormatError(
            f"not one entity was read: the last of its {survey.width} columns is O for every word"
            f"{unread and f', but {unread}'}; if another column holds the tags, name it (--tag-columns 2, "
            f"tag_columns=(2,)), and if the words are not labeled, name the last column."
        )
    if unread:
        reader.note(unread)


def _schemes(survey: _Survey, reader: Reader) -> dict[int, str]:
    if reader.scheme is not None:
        return dict.fromkeys(survey.detectors, schemes.scheme_named(reader.scheme))
    found = {column: detector.scheme() for column, detector in survey.detectors.items()}
    if len(set(found.values())) == 1:
        reader.note(f"scheme {next(iter(found.values()))} (detected)")
    else:
        named = ", ".join(f"{scheme} in column {column + 1}" for column, scheme in found.items())
        reader.note(f"schemes {named} (detected)")
    return found


def _readable(layout: Layout, sentence: list[Line]) -> Iterator[_Row]:
    for line in sentence:
        try:
            yield layout.row(line)
        except FormatError:  # reported when the sentence itself is read
            continue


def _read(reader: Reader, numbered: bool) -> Iterator[Document]:
    try:
        layout = _detect_layout(reader, numbered)
    except FormatError as error:
        raise reader.with_location(error, None) from None
    repaired: Counter[str] = Counter()
    file = "" if reader.path is None else reader.path.name
    yield from reader.documents(_sentences(reader), partial(_parse, file=file, layout=layout, repaired=repaired))
    for scheme, repairs in repaired.items():
        reader.note(f"{repairs} tags out of place for {scheme}; each starts or ends an entity, none was dropped")


def _parse(found: _Sentence, file: str, layout: Layout, repaired: Counter[str]) -> Iterator[Document]:
    sentence = found.lines
    if len(sentence) > MAX_SENTENCE:
        raise FormatError(f"the sentence has more than {MAX_SENTENCE:,} words; end sentences with a blank line.")
    rows = [layout.row(line) for line in sentence]
    spans: dict[WordSpan, None] = {}  # without those that two columns hold
    repairs: Counter[str] = Counter()
    for index, scheme in enumerate(layout.tags.values()):
        try:
            entities, wrong = schemes.decode([row.tags[index] for row in rows], scheme)
        except schemes.TagError as error:
            raise FormatError(error.reason, line=sentence[error.index].number) from None
        spans |= dict.fromkeys(entities)
        repairs[scheme] += wrong
    words = [row.token for row in rows]
    yield Document.from_words(words, spans, joiner=layout.joiner, metadata=found.metadata(file))
    repaired.update(+repairs)


def _encode(document: Document, writer: Writer, scheme: str) -> list[str] | None:
    """The sentences of a document; None for one that is left out, and has been counted."""
    flat = flattened(align_to_words(document, writer), writer)
    words = flat.word_texts
    if not words or not _supported(flat):
        kind = "word or label with a tab or line end" if words else "text without words"
        writer.drop_or_refuse(document, f"document left out for a {kind}")
        return None
    count_spacing(document, joiner_of(words), writer)
    writer.count_unsupported(flat, id=True)
    return [_sentence_lines(part, words, scheme) for part in _parts(flat, scheme, writer)]


class _Part(NamedTuple):
    """A stretch of words that is written as one sentence, and its entities."""

    first: int
    last: int
    spans: list[WordSpan]


def _parts(document: Document, scheme: str, writer: Writer) -> list[_Part]:
    """The sentences of a document; those that an entity joins are one. The whole document where it is not split."""
    spans = sorted(word_spans(document))
    starts = sentence_starts(document.text, document.words) if writer.split_sentences else [0]
    inside = {word for span in spans for word in range(span.first + 1, span.last)}
    cuts = [*(start for start in starts if start not in inside), len(document.words)]
    parts = [
        _Part(first, last, spans[bisect_left(spans, (first,)) : bisect_left(spans, (last,))])
        for first, last in pairwise(cuts)
    ]
    if scheme == "IO":
        merged = sum(schemes.merged_in_io(part.spans) for part in parts)
        writer.drop_or_refuse(document, "border between neighbors of one label", merged)
    return parts


def _sentence_lines(part: _Part, words: list[str], scheme: str) -> str:
    spans = [WordSpan(span.first - part.first, span.last - part.first, span.label) for span in part.spans]
    tags = schemes.encode(spans, part.last - part.first, scheme)
    return "".join(f"{word}\t{tag}\n" for word, tag in zip(words[part.first : part.last], tags, strict=True)) + "\n"


def _supported(document: Document) -> bool:
    """Words and labels that keep to their cell, and no word that would be taken for the mark of a document."""
    labels = [entity.label for entity in document.entities]
    return (
        not any(_BREAKS.search(text) for text in (*document.word_texts, *labels))
        and not any(_DOCSTART.match(word) for word in document.word_texts)
        and all(label == label.strip(" ") for label in labels)
    )


def _lines(documents: Iterable[Document], writer: Writer) -> Iterator[bytes]:
    scheme = schemes.scheme_named(writer.scheme)
    written = sentences = 0

    def encode(document: Document) -> str | None:
        nonlocal written, sentences
        parts = _encode(document, writer, scheme)
        if parts is None:
            return None
        text = "".join(parts) if written else guard_bom("".join(parts))
        written, sentences = written + 1, sentences + len(parts)
        return text

    yield from writer.each(documents, encode)
    if sentences > written:
        whole = counted(written, "document")
        writer.note(f"{sentences:,} sentences are written for {whole}; each is read as a document")


def _write(documents: Iterable[Document], writer: Writer) -> None:
    writer.file(_lines(documents, writer))


def _rows(probe: Probe) -> list[str]:
    return [line for line in probe.lines if line.strip() and not _DOCSTART.match(line)][:1000]


def _matches(probe: Probe) -> bool:
    rows = [re.split("[\t ]+", row.rstrip(" \t")) for row in _rows(probe)]
    if not rows or probe.record is not None or min(map(len, rows)) < 2:
        return False
    return all(_TAG.fullmatch(row[-1]) for row in rows) or _bare_tags(rows)


def _bare_tags(rows: list[list[str]]) -> bool:
    """Whether the rows are a table whose last column holds labels without a prefix, and O."""
    tags = schemes.SchemeDetector()
    tags.add(row[-1] for row in rows)
    return len(set(map(len, rows))) == 1 and tags.has_bare_labels() and not is_header(rows[0])


def _matches_weibo(probe: Probe) -> bool:
    rows = _rows(probe)
    characters = sum(CJK.match(row) is not None for row in rows)
    return _matches(probe) and all(_NUMBERED.match(row) for row in rows) and characters * 2 > len(rows)


CONLL = Format(
    name="conll",
    matches=_matches,
    read=partial(_read, numbered=False),
    write=_write,
    needs_words=True,
    example="Ann\tB-PER",
    suffixes=(".conll", ".bio", ".iob", ".iob2", ".bioes", ".bmes", ".tsv"),
)
CONLL_WEIBO = Format(
    name="conll-weibo",
    matches=_matches_weibo,
    read=partial(_read, numbered=True),
    write=None,
    needs_words=True,
    example="科0\tB-ORG",
)
