"""CSV with a row per entity: the flat table that `tables` writes, or any columns of texts, offsets and labels."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from spanwise.document import Document
from spanwise.errors import FormatError
from spanwise.formats import tables
from spanwise.formats.base import Format, Probe
from spanwise.formats.fields import check_type, score, short_repr
from spanwise.formats.reading import MAX_RECORD, Reader, not_utf8
from spanwise.formats.standoff import Link, Mark, Standoff

_SEPARATORS = ",;\t|"
_NUMBER = re.compile(r"([0-9]{1,12})(\.0)?")  # pandas writes numbers that can be missing with a point
_NAMES: Mapping[str, tuple[str, ...]] = {
    "text": ("document_text", "full_text", "sentence", "text", "document", "content"),
    "document": ("doc_id", "document_id", "text_id", "sentence_id"),
    "id": ("id",),
    "start": ("start", "begin", "start_offset", "start_char"),
    "end": ("end", "stop", "end_offset", "end_char"),
    "label": ("label", "entity_type", "entity_label", "type", "category", "tag"),
    "surface": ("entity", "span", "mention", "entity_text", "span_text", "surface"),
    "score": ("score", "confidence"),
}  # by what a column holds; the first that a table has is read
_NEEDED = ("text", "start", "end", "label")


class _Row(NamedTuple):
    """The cells of a row by what they hold; an empty cell is missing."""

    line: int
    cells: dict[str, str]

    def number(self, name: str) -> int | None:
        cell = self.cells.get(name)
        if cell is None or cell.lower() == "nan":
            return None
        if not (found := _NUMBER.fullmatch(cell.strip())):
            raise FormatError(f"{name!r} is {short_repr(cell)}, but should be a whole number.", line=self.line)
        return int(found[1])

    def text(self, name: str) -> str:
        if name not in self.cells:
            raise FormatError(f"{name!r} is empty in this row; fill it in.", line=self.line)
        return self.cells[name]

    def bounds(self, start: str = "start", end: str = "end") -> tuple[int, int]:
        first, last = self.number(start), self.number(end)
        if first is None or last is None:
            raise FormatError(f"the row has only one of {start!r} and {end!r}; give both or neither.", line=self.line)
        return first, last

    @property
    def score(self) -> float:
        if "score" not in self.cells:
            return 1.0
        try:
            return score({"score": float(self.cells["score"])})
        except ValueError:
            raise FormatError(f"the score {short_repr(self.cells['score'])} is not a number.", line=self.line) from None


@dataclass(frozen=True)
class _Layout:
    """What the columns hold, in their order; None for a column that is not read."""

    separator: str
    columns: Sequence[str | None]
    flat: bool  # the table that spanwise writes

    def row(self, line: int, cells: Sequence[str]) -> _Row:
        if len(cells) != len(self.columns):
            raise FormatError(
                f"the row has {len(cells)} cells, but the header {len(self.columns)}; correct the row.", line=line
            )
        named = zip(self.columns, cells, strict=True)
        return _Row(line, {name: check_type(cell, str, repr(name)) for name, cell in named if name and cell})

    def document(self, row: _Row) -> str:
        """What the rows of one document have in common. Plain ids may be those of the rows."""
        return row.cells.get("document") or row.text("text")


def _matches(probe: Probe) -> bool:
    first = next((line for line in probe.lines if line.strip()), "")
    return probe.value is None and _layout(first) is not None


def _layout(header: str) -> _Layout | None:
    """The layout of a table with this header; None if it is no table of entities."""
    for separator in _SEPARATORS:
        names = [name.strip().lower() for name in next(csv.reader([header], delimiter=separator), [])]
        if tuple(names) == tables.COLUMNS:
            return _Layout(separator, names, flat=True)
        columns = {kind: next((n for n in choice if n in names), None) for kind, choice in _NAMES.items()}
        if all(columns[kind] for kind in _NEEDED):
            kinds = {name: kind for kind, name in columns.items() if name}
            return _Layout(separator, [kinds.get(name) for name in names], flat=False)
    return None


def _read(reader: Reader) -> Iterator[Document]:
    lines = _lines(reader)
    header = next((line for line in lines if line.strip()), "")
    layout = _layout(header.rstrip("\r\n"))
    if not header:
        return
    if layout is None:
        raise FormatError(
            "the header does not name a text, a start, an end and a label; name the columns 'text', 'start', 'end' and "
            "'label'.",
            reader.name,
            1,
        )
    parse: Callable[[list[_Row]], Document] = partial(_flat_document if layout.flat else _document, reader=reader)
    for name, kind in zip(next(csv.reader([header], delimiter=layout.separator)), layout.columns, strict=True):
        if name and kind is None:
            reader.report.drop(f"column {short_repr(name)}")
    yield from reader.documents(_documents(lines, layout, reader), lambda rows: [parse(rows)])


def _lines(reader: Reader) -> Iterator[str]:
    """The lines with their ends, which a cell may hold."""
    with reader.open() as stream:
        number = 0
        while raw := stream.readline(MAX_RECORD + 1):
            number += 1
            reader.report.bytes_read += len(raw)
            try:
                yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise reader.with_location(not_utf8(raw[error.start], number), None) from None


def _documents(lines: Iterator[str], layout: _Layout, reader: Reader) -> Iterator[tuple[int, list[_Row]]]:
    """The rows of each document, which stand together."""
    finished: set[bytes] = set()
    for key, group in groupby(_rows(lines, layout, reader), itemgetter(0)):
        rows = [row for _, row in group]
        digest = blake2b(key.encode(), digest_size=16).digest()
        if digest in finished:
            error = FormatError(f"the rows of {short_repr(key)} do not stand together; sort the table by document.")
            raise reader.with_location(error, rows[0].line)
        finished.add(digest)
        yield rows[0].line, rows


def _rows(lines: Iterator[str], layout: _Layout, reader: Reader) -> Iterator[tuple[str, _Row]]:
    """The rows, each after what it has in common with the other rows of its document."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD))
    rows = csv.reader(lines, delimiter=layout.separator, strict=True)
    line = 2
    try:
        for cells in rows:
            if cells:
                row = layout.row(line, cells)
                yield layout.document(row), row
            line = rows.line_num + 2  # after the header
    except (csv.Error, FormatError) as error:
        found = (
            error if isinstance(error, FormatError) else FormatError(f"the table is broken here ({error}); correct it.")
        )
        raise reader.with_location(found, line) from None


def _document(rows: list[_Row], reader: Reader) -> Document:
    """The rows of one text; a row without offsets and label says that there is no entity."""
    marks = []
    for row in rows:
        if row.number("start") is None and row.number("end") is None and "label" not in row.cells:
            continue
        marks.append(Mark(*row.bounds(), row.text("label"), row.cells.get("surface"), score=row.score))
    cells = rows[0].cells
    return Standoff(rows[0].text("text"), marks).document(reader.report, cells.get("document") or cells.get("id", ""))


def _flat_document(rows: list[_Row], reader: Reader) -> Document:
    """The rows of the flat table: the document, then its entities, then its relations."""
    first, *annotations = rows
    if first.cells.get("kind") != "document":
        raise FormatError(
            "the rows of this document begin without the row of the kind 'document' that holds its text, so "
            "the offsets mean nothing; write the table again.",
            line=first.line,
        )
    marks: list[Mark] = []
    links: list[Link] = []
    for row in annotations:
        if row.text("kind") == "entity":
            bounds, label = row.bounds(), row.text("label")
            marks.append(Mark(*bounds, label, row.cells.get("text"), (*bounds, label), row.score))
        else:
            links.append(Link(_argument(row, "head"), _argument(row, "tail"), row.text("label"), row.score))
    standoff = Standoff(first.cells.get("text", ""), marks, links)
    return standoff.document(reader.report, first.cells.get("id", ""))


def _argument(row: _Row, side: str) -> tuple[Any, ...]:
    return (*row.bounds(f"{side}_start", f"{side}_end"), row.text(f"{side}_label"))


CSV = Format(
    name=tables.CSV,
    matches=_matches,
    read=_read,
    write=tables.write_csv,
    needs_words=False,
    example="text,start,end,label\nAnn left.,0,3,PER",
    suffixes=(".csv",),
)
