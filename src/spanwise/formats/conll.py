"""CoNLL columns: one word a line, its tag last, a blank line after each sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from spanwise.document import Document, outermost, overlap
from spanwise.errors import FormatError
from spanwise.formats import schemes
from spanwise.formats.base import Format, Probe
from spanwise.formats.fields import short_repr
from spanwise.formats.reading import Line, Reader
from spanwise.formats.tokens import align_to_words, count_spacing, word_spans
from spanwise.formats.writing import Writer, guard_bom

MAX_SENTENCE = 1_000_000
_TAG = re.compile(r"O|[BIESLUM]-.+")
_NUMBERED = re.compile(r"[^\t]+\d\t")
# Chinese and Japanese characters with their punctuation.
_CJK = re.compile("[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003134f]")
_DOCSTART = re.compile(r"-DOCSTART-([ \t]|$)")
_DOCSTART_LINE = re.compile(_DOCSTART.pattern.encode())
_BREAKS = re.compile(r"[\t\r\n]")


@dataclass(frozen=True)
class Layout:
    """How a file is laid out. `numbered`: each token ends in a digit that is no part of it, as in Weibo NER."""

    separator: str
    numbered: bool
    scheme: str = "IOB2"
    joiner: str = " "

    def columns(self, line: Line) -> tuple[str, str]:
        """The token and the tag of a line."""
        text = line.decode().rstrip(" \t")
        cells = text.split("\t") if self.separator == "\t" else re.split(" +", text)
        if len(cells) < 2 or not cells[0]:
            kind = "tabs" if self.separator == "\t" else "spaces"
            raise FormatError(
                f"{short_repr(text)} is not a token and a tag with {kind} between them; add the column.",
                line=line.number,
            )
        if not self.numbered:
            return cells[0], cells[-1]
        if len(cells[0]) < 2 or not cells[0][-1].isdigit():
            raise FormatError(
                f"the token {short_repr(cells[0])} does not end in a digit; read the file as 'conll'.", line=line.number
            )
        return cells[0][:-1], cells[-1]


def _sentences(reader: Reader) -> Iterator[tuple[int, list[Line]]]:
    sentence: list[Line] = []
    for line in reader.lines():
        if line.raw.strip() and not _DOCSTART_LINE.match(line.raw):
            if len(sentence) <= MAX_SENTENCE:
                sentence.append(line)
        elif sentence:
            yield sentence[0].number, sentence
            sentence = []
    if sentence:
        yield sentence[0].number, sentence


def _detect_layout(reader: Reader, numbered: bool) -> Layout:
    """Look through the file once: the separator, the scheme, and whether its tokens are Chinese characters."""
    separator, tags, tokens, characters = "", schemes.SchemeDetector(), 0, 0
    for _, sentence in _sentences(reader):
        separator = separator or ("\t" if any(b"\t" in line.raw for line in sentence) else " ")
        layout = Layout(separator, numbered)
        rows = list(_readable(layout, sentence))
        tags.add(tag for _, tag in rows)
        tokens += len(rows)
        characters += _characters(token for token, _ in rows)
    if reader.scheme is None:
        scheme = tags.scheme()
        reader.note(f"scheme {scheme} (detected)")
    else:
        scheme = schemes.scheme_named(reader.scheme)
    joiner = "" if numbered else _joiner(characters, tokens)
    if not joiner:
        reader.note("characters joined without spaces (detected)")
    return Layout(separator, numbered, scheme, joiner)


def _characters(words: Iterable[str]) -> int:
    """How many of the words are one Chinese or Japanese character."""
    return sum(len(word) == 1 and _CJK.match(word) is not None for word in words)


def _joiner(characters: int, words: int) -> str:
    return "" if characters * 2 > words else " "


def _readable(layout: Layout, sentence: list[Line]) -> Iterator[tuple[str, str]]:
    for line in sentence:
        try:
            yield layout.columns(line)
        except FormatError:  # reported when the sentence itself is read
            continue


def _read(reader: Reader, numbered: bool) -> Iterator[Document]:
    try:
        layout = _detect_layout(reader, numbered)
    except FormatError as error:
        raise reader.with_location(error, None) from None
    repaired = 0

    def parse(sentence: list[Line]) -> Iterator[Document]:
        nonlocal repaired
        if len(sentence) > MAX_SENTENCE:
            raise FormatError(f"the sentence has more than {MAX_SENTENCE:,} words; end sentences with a blank line.")
        rows = [layout.columns(line) for line in sentence]
        try:
            spans, repairs = schemes.decode([tag for _, tag in rows], layout.scheme)
        except schemes.TagError as error:
            raise FormatError(error.reason, line=sentence[error.index].number) from None
        yield Document.from_words([token for token, _ in rows], spans, joiner=layout.joiner)
        repaired += repairs

    yield from reader.documents(_sentences(reader), parse)
    if repaired:
        reader.note(
            f"{repaired} tags out of place for {layout.scheme}; each starts or ends an entity, none was dropped"
        )


def _encode(document: Document, writer: Writer, scheme: str) -> str | None:
    flat = _flat(align_to_words(document, writer), writer)
    words = flat.word_texts
    if not words or not _supported(flat):
        kind = "word or label with a tab or line end" if words else "text without words"
        writer.drop_or_refuse(document, f"document left out for a {kind}")
        return None
    count_spacing(document, _joiner(_characters(words), len(words)), writer)
    writer.count_unsupported(flat, id=True)
    tags = schemes.encode(word_spans(flat), len(words), scheme)
    return "".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)) + "\n"


def _supported(document: Document) -> bool:
    """Words and labels that keep to their cell, and no word that would be taken for the mark of a document."""
    labels = [entity.label for entity in document.entities]
    return (
        not any(_BREAKS.search(text) for text in (*document.word_texts, *labels))
        and not any(_DOCSTART.match(word) for word in document.word_texts)
        and all(label == label.strip(" ") for label in labels)
    )


def _flat(document: Document, writer: Writer) -> Document:
    """The document without relations and overlaps."""
    writer.drop_or_refuse(document, "relation", len(document.relations))
    if not overlap(document.entities):
        return document.without_relations()
    kept = outermost(document.entities)
    same = len(document.entities) - len({(e.start, e.end) for e in document.entities})
    writer.drop_or_refuse(document, "second label on one span", same)
    writer.drop_or_refuse(document, "nested or overlapping entity", len(document.entities) - len(kept) - same)
    return document.with_annotations(kept)


def _lines(documents: Iterable[Document], writer: Writer) -> Iterator[bytes]:
    scheme = schemes.scheme_named(writer.scheme)
    first = True

    def encode(document: Document) -> str | None:
        nonlocal first
        text = _encode(document, writer, scheme)
        guarded = guard_bom(text) if first and text is not None else text
        first = first and text is None
        return guarded

    return writer.each(documents, encode)


def _write(documents: Iterable[Document], writer: Writer) -> None:
    writer.file(_lines(documents, writer))


def _rows(probe: Probe) -> list[str]:
    return [line for line in probe.lines if line.strip() and not _DOCSTART.match(line)][:1000]


def _matches(probe: Probe) -> bool:
    rows = [re.split("[\t ]+", row.rstrip(" \t")) for row in _rows(probe)]
    return bool(rows) and probe.record is None and all(len(row) > 1 and _TAG.fullmatch(row[-1]) for row in rows)


def _matches_weibo(probe: Probe) -> bool:
    rows = _rows(probe)
    characters = sum(_CJK.match(row) is not None for row in rows)
    return _matches(probe) and all(_NUMBERED.match(row) for row in rows) and characters * 2 > len(rows)


CONLL = Format(
    name="conll",
    matches=_matches,
    read=partial(_read, numbered=False),
    write=_write,
    needs_words=True,
    suffixes=(".conll", ".bio", ".iob", ".iob2", ".bioes", ".bmes", ".tsv"),
)
CONLL_WEIBO = Format(
    name="conll-weibo",
    matches=_matches_weibo,
    read=partial(_read, numbered=True),
    write=None,
    needs_words=True,
)
