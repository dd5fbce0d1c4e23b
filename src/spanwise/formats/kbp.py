"""TAC KBP entity discovery: sources in `.xml` or `.df`, and a table `.tab` of the mentions in all of them.

A row holds the run, the id of the mention, its text, `document:start-end`, the entry of the knowledge base, the type
and the type of mention (NAM or NOM). Offsets count the characters of the source with its tags, and ends are inclusive.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from spanwise.document import Document, Entity
from spanwise.errors import FormatError
from spanwise.formats.base import Format, Probe
from spanwise.formats.fields import short_repr
from spanwise.formats.listing import Source, folder_of, is_list, sources
from spanwise.formats.markup import Plain, flat, line_end_variants, plain, read_source
from spanwise.formats.reading import Reader
from spanwise.plural import counted

_TABLE = ".tab"
_SOURCES = (".cmp.txt", ".df.xml", ".nw.xml", ".xml", ".df", ".sgm")
_COLUMNS = 7
_PLACE = re.compile(r"(?P<document>\S+):(?P<start>\d{1,12})-(?P<end>\d{1,12})")
_KINDS = frozenset({"NAM", "NOM"})
_ROOT = re.compile(r"<doc\b", re.IGNORECASE)


class _Mention(NamedTuple):
    """A row of the table; `end` is exclusive."""

    line: int
    id: str
    text: str
    start: int
    end: int
    label: str
    kind: str


def _matches(probe: Probe) -> bool:
    if probe.path.is_dir() or is_list(probe.path):
        return any(_is_table(path) for path in _tables(folder_of(probe.path)))
    return _is_row(next((line for line in probe.lines if line.strip()), ""))


def _is_row(line: str) -> bool:
    cells = line.split("\t")
    return len(cells) >= _COLUMNS and _PLACE.fullmatch(cells[3]) is not None


def _is_table(path: Path) -> bool:
    return _is_row(next((line for line in Probe.of(path).lines if line.strip()), ""))


def _tables(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() == _TABLE and path.is_file())


def _table_of(path: Path) -> Path:
    """The one table of a corpus."""
    if path.is_file() and not is_list(path):
        return path
    found = [table for table in _tables(folder_of(path)) if _is_table(table)]
    if len(found) != 1:
        problem = (
            f"{len(found)} tables of mentions, such as {found[0].name}" if found else "no table of mentions (.tab)"
        )
        raise FormatError(f"the folder has {problem}; give the one table to read, beside its sources.", path)
    return found[0]


def _row(text: str, line: int) -> tuple[str, _Mention]:
    cells = text.split("\t")
    place = _PLACE.fullmatch(cells[3]) if len(cells) >= _COLUMNS else None
    if place is None:
        raise FormatError(
            f"{short_repr(text)} is not a row of mentions: run, id, text, document:start-end, entry, type, NAM or NOM.",
            line=line,
        )
    label, kind = cells[5].strip(), cells[6].strip().upper()
    if not label:
        raise FormatError("the mention has no type, such as PER, in column 6; add it.", line=line)
    if kind not in _KINDS:
        raise FormatError(f"the type of mention is {short_repr(cells[6])}, but should be NAM or NOM.", line=line)
    start, end = int(place["start"]), int(place["end"]) + 1
    return place["document"], _Mention(line, cells[1], cells[2], start, end, label, kind)


def _mentions(reader: Reader) -> dict[str, list[_Mention]]:
    """The rows of a table by their documents; a bad row ends the reading or is counted."""
    found: defaultdict[str, list[_Mention]] = defaultdict(list)
    for line in reader.lines():
        if line.raw.strip():
            try:
                document, mention = _row(line.decode(), line.number)
            except FormatError as error:
                reader.handle_bad_record(error, line.number, line)
            else:
                found[document].append(mention)
    return dict(found)


def _document(source: Source, mentions: list[_Mention], names_only: bool, dropped: Counter[str]) -> Iterator[Document]:
    text, shift = _fitting(read_source(source.path), mentions)
    entities = []
    for mention in mentions:
        place = text.place(mention.start + shift, mention.end + shift)
        if names_only and mention.kind != "NAM":
            dropped["KBP nominal mention (the format kbp reads it)"] += 1
        elif text.cuts_reference(mention.start + shift, mention.end + shift):
            dropped["KBP mention that begins or ends inside a character reference such as &amp;"] += 1
        elif place is None:
            dropped["KBP mention inside a tag, such as the author of a post"] += 1
        else:
            entities.append(Entity(place.start, place.end, mention.label))
    yield Document(text.text, entities=tuple(entities), id=source.base)


def _fitting(source: str, mentions: list[_Mention]) -> tuple[Plain, int]:
    """The text as the offsets count it, and where they begin to: at the file, or at the tag of the document.

    If short mentions happen to be at both places, it is where fewer of them are inside tags.
    """
    wrong = mentions[0]
    for content in line_end_variants(source):
        root, text = _ROOT.search(content), plain(content, count_tags=True, count_references=True)
        fitting = {}
        for shift in dict.fromkeys((0, root.start() if root else 0)):
            unfit = next((m for m in mentions if not _fits(m, text, content, shift)), None)
            if unfit is None:
                fitting[shift] = sum(text.place(m.start + shift, m.end + shift) is None for m in mentions)
            wrong = unfit or wrong
        if fitting:
            return text, min(fitting, key=fitting.__getitem__)
    raise FormatError(
        f"the mention {short_repr(wrong.text)} ({wrong.id}) is not at characters {wrong.start} to {wrong.end - 1} of "
        f"its source; the source must be the one that was annotated.",
        line=wrong.line,
    )


def _fits(mention: _Mention, text: Plain, content: str, shift: int) -> bool:
    """Whether the text of a mention is at its offsets; one inside a tag is looked up there."""
    start, end = mention.start + shift, mention.end + shift
    place = text.place(start, end)
    found = content[start:end] if place is None else text.text[place.start : place.end]
    return flat(found) == flat(mention.text)


def _read(reader: Reader, names_only: bool) -> Iterator[Document]:
    if reader.path is None:
        raise FormatError("KBP files cannot come from standard input; name the folder or the table.")
    table = replace(reader, path=_table_of(reader.path))
    corpus = reader if reader.path.is_dir() or is_list(reader.path) else replace(reader, path=reader.path.parent)
    mentions = _mentions(table)
    files = sources(corpus, _SOURCES)
    found = [source for source in files if source.base in mentions]
    if len(found) > len(unique := {source.base: source for source in found}):
        twice = next(source for source in found if unique[source.base] is not source)
        raise FormatError(f"the document {short_repr(twice.base)} has two sources; keep one of them.", twice.path)
    _note_unread(table, mentions, files, is_list(reader.path))
    if not found:
        raise FormatError("no source of a document in the table was found; put the sources beside it.", table.path)
    for source in found:
        parse = partial(_document, mentions=mentions[source.base], names_only=names_only, dropped=reader.report.dropped)
        yield from table.documents([(None, source)], parse)


def _note_unread(table: Reader, mentions: dict[str, list[_Mention]], files: list[Source], selected: bool) -> None:
    """Say which sources have no mentions, and which mentions no source: gold is never lost in silence."""
    names = {source.base for source in files}
    if bare := sum(name not in mentions for name in names):
        texts = counted(bare, "source without a mention in the table is", "sources without a mention in the table are")
        table.note(f"{texts} not read")
    absent = [name for name in mentions if name not in names]
    if absent and not selected:
        rows = sum(len(mentions[name]) for name in absent)
        lost = counted(rows, "mention is", "mentions are")
        table.note(f"{lost} not read: {counted(len(absent), 'document has', 'documents have')} no source")
        table.report.dropped["KBP mention of a missing source"] += rows


KBP = Format(
    name="kbp",
    matches=_matches,
    read=partial(_read, names_only=False),
    write=None,
    needs_words=False,
    example="LDC\tM1\tAnn\tdoc1:10-12\tm.1\tPER\tNAM\t1.0",
    is_folder=True,
)
KBP_NAMES = Format(
    name="kbp-names",
    matches=lambda probe: False,  # a view of the same files, to be named
    read=partial(_read, names_only=True),
    write=None,
    needs_words=False,
    example="LDC\tM1\tAnn\tdoc1:10-12\tm.1\tPER\tNAM\t1.0",
    is_folder=True,
)
