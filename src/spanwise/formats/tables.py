"""Documents as a flat table: one row per entity and one per relation. Written as CSV or Parquet, or as a data frame.

In CSV a row with the document's text comes before them, so that the table can be read again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

from spanwise.document import Document, Entity
from spanwise.formats.extras import optional_module
from spanwise.formats.writing import Writer
from spanwise.plural import counted

CSV, PARQUET = "csv", "parquet"
SUFFIXES = {".csv": CSV, ".parquet": PARQUET}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the beginning of a formula
_ROWS = 65_536  # of a row group


class Row(NamedTuple):
    """An entity, or a relation with its two entities. `document` counts the documents from 0."""

    document: int
    id: str | None
    kind: str
    label: str
    score: float
    start: int | None = None
    end: int | None = None
    text: str | None = None
    head_start: int | None = None
    head_end: int | None = None
    head_label: str | None = None
    head_text: str | None = None
    tail_start: int | None = None
    tail_end: int | None = None
    tail_label: str | None = None
    tail_text: str | None = None


COLUMNS = Row._fields
INTEGERS = tuple(name for name in COLUMNS if name == "document" or name.endswith(("start", "end")))
TEXTS = tuple(name for name in COLUMNS if name not in INTEGERS and name != "score")


def rows(document: Document, number: int) -> Iterator[Row]:
    """The entities of a document, then its relations; none for a document without either."""
    id = document.id or None
    for entity in document.entities:
        span = (entity.start, entity.end, document.text_of(entity))
        yield Row(number, id, "entity", entity.label, float(entity.score), *span)
    for relation in document.relations:
        head, tail = (_argument(document, document.entities[index]) for index in (relation.head, relation.tail))
        yield Row(number, id, "relation", relation.label, float(relation.score), None, None, None, *head, *tail)


def _argument(document: Document, entity: Entity) -> tuple[int, int, str, str]:
    return entity.start, entity.end, entity.label, document.text_of(entity)


def to_frame(documents: Iterable[Document]) -> Any:
    """The table as a pandas data frame; numbers that can be missing have the type Int64."""
    pandas = optional_module("pandas", "tables", "a data frame")
    found = [row for number, document in enumerate(documents) for row in rows(document, number)]
    types = {name: "int64" if name == "document" else "Int64" for name in INTEGERS}
    return pandas.DataFrame(found, columns=COLUMNS).astype({**types, "score": "float64"})


def write_csv(documents: Iterable[Document], writer: Writer) -> None:
    """UTF-8 with a header, quoted as RFC 4180 says. Texts are written as they are; a note counts possible formulas."""
    formulas = 0

    def chunks() -> Iterator[bytes]:
        nonlocal formulas
        yield _csv_line(COLUMNS).encode()
        for number, (document, found) in enumerate(_counted(documents, writer)):
            writer.count_dropped("words", bool(document.words))
            text = Row(number, document.id or None, "document", "", 1.0, text=document.text)
            for row in chain([text], found):
                formulas += sum(isinstance(cell, str) and cell.startswith(FORMULA) for cell in row)
                yield writer.encoded(_csv_line(row), document)

    writer.file(chunks())
    if formulas:
        begin = counted(formulas, "cell begins", "cells begin")
        writer.note(
            f"{begin} with =, +, -, @, a tab or a carriage return, which spreadsheets can take for a formula; import "
            f"the columns as text"
        )


def _csv_line(cells: Iterable[object]) -> str:
    line = io.StringIO(newline="")
    csv.writer(line).writerow(cells)
    return line.getvalue()


def write_parquet(documents: Iterable[Document], writer: Writer) -> None:
    """One row group per some ten thousand rows; the columns have the same types in every file."""
    pyarrow = optional_module("pyarrow", "tables", "a Parquet file")
    parquet = optional_module("pyarrow.parquet", "tables", "a Parquet file")
    schema = _arrow_schema(pyarrow)
    found = (row for _, own in _counted(documents, writer) for row in own)
    with writer.open() as stream, parquet.ParquetWriter(stream, schema, compression="zstd") as table:
        while group := list(islice(found, _ROWS)):
            columns = [
                pyarrow.array(column, type) for column, type in zip(zip(*group, strict=True), schema.types, strict=True)
            ]
            table.write_table(pyarrow.Table.from_arrays(columns, schema=schema))


def _arrow_schema(pyarrow: Any) -> Any:
    types = {**dict.fromkeys(INTEGERS, pyarrow.int64()), **dict.fromkeys(TEXTS, pyarrow.string())}
    return pyarrow.schema([(name, types.get(name, pyarrow.float64())) for name in COLUMNS])


def _counted(documents: Iterable[Document], writer: Writer) -> Iterator[tuple[Document, Iterator[Row]]]:
    for number, document in enumerate(documents):
        held = writer.without_heads(document)
        writer.count_dropped("metadata", bool(held.metadata))
        writer.report.written += 1
        yield held, rows(held, number)


WRITERS = {CSV: write_csv, PARQUET: write_parquet}
