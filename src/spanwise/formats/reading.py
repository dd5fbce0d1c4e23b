"""A file being read: its lines and JSON records with their places, and what happens to a bad one."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

from spanwise.document import Document
from spanwise.errors import AnnotationError, FormatError
from spanwise.formats import json_array
from spanwise.formats.fields import check_type, short_repr, shorten
from spanwise.formats.foreign import UnreadLabels
from spanwise.formats.report import Report

R = TypeVar("R")
MAX_RECORD = 256 * 2**20
HEAD = 2**16  # the bytes at the start of a file that tell its format


class Line(NamedTuple):
    """One line as bytes, without its end."""

    number: int
    raw: bytes

    def decode(self) -> str:
        if len(self.raw) > MAX_RECORD:
            raise FormatError(
                f"the line is longer than {MAX_RECORD // 2**20} MB, too much for one record; split it into documents.",
                line=self.number,
            )
        try:
            return self.raw.decode()
        except UnicodeDecodeError as error:
            raise not_utf8(self.raw[error.start], self.number) from None


@dataclass
class Reader:
    """One input and how to read it. `path` is None for standard input."""

    path: Path | None
    scheme: str | None
    skip_bad: bool
    report: Report
    tag_columns: tuple[int, ...] = ()  # of a CoNLL file, counted from 1; empty: the last one
    annotator: str | None = None  # whose annotations are read, where a text has those of several
    annotators: set[str] = field(default_factory=set)  # that were found
    unread_labels: UnreadLabels | None = None

    @property
    def name(self) -> str:
        return "standard input" if self.path is None else str(self.path)

    def note(self, text: str) -> None:
        self.report.notes.append(f"{'standard input' if self.path is None else self.path.name}: {text}")

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        if self.path is None:
            yield sys.stdin.buffer
        else:
            with self.path.open("rb") as stream:
                yield stream

    def opening(self) -> bytes:
        """The first bytes that are no space: they tell an array from JSON lines."""
        with self.open() as stream:
            return stream.read(4096).removeprefix(codecs.BOM_UTF8).lstrip()[:1]

    def lines(self) -> Iterator[Line]:
        """Lines as line feeds end them, or carriage returns in a file without line feeds.

        Tokens may hold any other separator that Unicode knows.
        """
        with self.open() as stream:
            for number, raw in enumerate(self._raw_lines(stream), 1):
                self.report.bytes_read += len(raw)
                yield Line(number, (raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw).rstrip(b"\r\n"))

    def _raw_lines(self, stream: BinaryIO) -> Iterator[bytes]:
        if self.path is not None:  # standard input cannot be read twice
            end = line_end(stream.read(HEAD))
            stream.seek(0)
            if end == b"\r":
                return _carriage_return_lines(stream)
        return _line_feed_lines(stream)

    def documents(
        self, records: Iterable[tuple[int | None, R]], parse: Callable[[R], Iterable[Document]]
    ) -> Iterator[Document]:
        """Parse records one by one; a bad one ends the reading or is counted and skipped."""
        for line, record in records:
            try:
                parsed = tuple(parse(record))
            except (FormatError, AnnotationError) as error:
                self.handle_bad_record(error, line, record)
            else:
                yield from parsed

    def json_line_documents(self, parse: Callable[[dict[str, Any]], Iterable[Document]]) -> Iterator[Document]:
        """One JSON object a line; blank lines are passed over."""
        lines = ((line.number, line) for line in self.lines() if line.raw.strip())
        return self.documents(lines, lambda line: parse(json_object(line.decode())))

    def json_array_documents(self, parse: Callable[[dict[str, Any]], Iterable[Document]]) -> Iterator[Document]:
        """The objects of one JSON array, never more than one of them in memory."""
        with self.open() as stream:
            try:
                yield from self.documents(json_array.elements(stream, MAX_RECORD), lambda value: parse(_record(value)))
            except FormatError as error:
                raise self.with_location(error, None) from None

    def count_unknown_fields(self, record: dict[str, Any], known: frozenset[str]) -> None:
        """Count the fields of a record that have no place in a document, and remember one that looks like labels."""
        self.report.dropped.update(f"field {short_repr(key)}" for key in record if key not in known)
        self.unread_labels = self.unread_labels or UnreadLabels.of(record, known)

    def handle_bad_record(self, error: FormatError | AnnotationError, line: int | None, record: object = None) -> None:
        """Count a bad record and go on, or stop with its place."""
        placed = self.with_location(error, line)
        if not self.skip_bad:
            raise placed from None
        self.report.add_bad(placed, None if self.report.bad_records is None else _as_text(record))

    def with_location(self, error: FormatError | AnnotationError, line: int | None) -> FormatError:
        """The error with the file and the line that it came from."""
        if not isinstance(error, FormatError):
            return FormatError(shorten(str(error)), self.name, line)
        if error.path is not None:
            return error
        return FormatError(error.reason, self.name, line if error.line is None else error.line)


def _as_text(record: object) -> str | None:
    """A bad record as it is read: bytes that are not UTF-8 are escaped, other values are written as JSON."""
    if record is None or isinstance(record, str):
        return record
    if isinstance(record, Line):
        return record.raw.decode(errors="backslashreplace")
    return json.dumps(record, ensure_ascii=False, default=str)


def line_end(head: bytes) -> bytes:
    """What ends the lines of a file that begins so: a carriage return where there is no line feed."""
    return b"\r" if b"\r" in head[:-1] and b"\n" not in head else b"\n"


def _line_feed_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines, each cut off after the length that is refused."""
    while raw := stream.readline(MAX_RECORD + 1):
        rest = raw
        while len(rest) > MAX_RECORD and not rest.endswith(b"\n"):
            rest = stream.readline(MAX_RECORD + 1)
        yield raw


def _carriage_return_lines(stream: BinaryIO) -> Iterator[bytes]:
    rest = b""
    while chunk := stream.read(HEAD):
        *lines, rest = (rest + chunk).split(b"\r")
        yield from lines
        rest = rest[: MAX_RECORD + 1]
    if rest:
        yield rest


def json_object(text: str) -> dict[str, Any]:
    """One JSON object; NaN and the infinities are no JSON."""
    keys = json_array.KeyCheck()
    try:
        value = json.loads(text, parse_constant=json_array.refuse_constant, object_pairs_hook=keys)
    except RecursionError:
        raise FormatError("the JSON is nested too deeply; flatten the record.") from None
    except ValueError as error:
        raise FormatError(f"the line is not a JSON object ({error}): {short_repr(text)}.") from None
    return _record(keys.repeated or value)


def _record(value: Any) -> dict[str, Any]:
    if isinstance(value, json_array.RepeatedKey):
        raise FormatError(f"an object gives the key {short_repr(value.key)} twice; keep one of them.")
    return check_type(value, dict, "the record")


def not_utf8(byte: int, line: int) -> FormatError:
    return FormatError(
        f"byte 0x{byte:02x} is not UTF-8; convert the file first, for example with "
        f"`iconv -f latin1 -t utf-8`, or skip such records.",
        line=line,
    )
