"""Parquet files of texts: a row is a record of spanwise's own format. Only for predictions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from os import SEEK_END
from typing import Any

from spanwise.document import Document
from spanwise.errors import FormatError
from spanwise.formats import jsonl
from spanwise.formats.extras import optional_module
from spanwise.formats.reading import Reader

PARQUET = "parquet"
SUFFIX = ".parquet"
_MAGIC = b"PAR1"
_ROWS = 1024  # in memory at a time


def is_parquet(beginning: bytes) -> bool:
    return beginning.startswith(_MAGIC)


def read_rows(reader: Reader, text_column: str) -> Iterator[Document]:
    """The documents of the rows, in order. The columns are those of a JSON record; other columns are counted."""
    pyarrow = optional_module("pyarrow", "tables", "a Parquet file")
    parquet = optional_module("pyarrow.parquet", "tables", "a Parquet file")
    with reader.open() as stream:
        try:
            file = parquet.ParquetFile(stream)
        except pyarrow.ArrowInvalid as error:
            raise FormatError(f"this is not a Parquet file, or it is damaged ({error}).", reader.name) from None
        columns = _columns(file.schema_arrow.names, text_column, reader)
        rows = _rows(file, columns, stream.seek(0, SEEK_END), reader)
        yield from reader.documents(rows, partial(_document, reader, text_column))


def _document(reader: Reader, text_column: str, record: dict[str, Any]) -> Iterator[Document]:
    text = record.pop(text_column)
    return jsonl.parse({"text": text, **record}, reader)


def _columns(names: list[str], text_column: str, reader: Reader) -> list[str]:
    """The columns that a document has a place for."""
    if text_column not in names:
        raise FormatError(
            f"the table has no column {text_column!r}; name the column of the texts with --text-column: "
            f"one of {', '.join(names)}.",
            reader.name,
        )
    kept = [name for name in names if name == text_column or (name in jsonl.KEYS and name != "text")]
    reader.report.dropped.update(f"column {name!r}" for name in names if name not in kept)
    return kept


def _rows(file: Any, columns: list[str], size: int, reader: Reader) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows with their numbers, from 1."""
    number = 0
    for batch in file.iter_batches(batch_size=_ROWS, columns=columns):
        for record in batch.to_pylist():
            number += 1
            yield number, record
        reader.report.bytes_read += size * batch.num_rows // file.metadata.num_rows
