"""Plain text, in which nothing is marked: a `.txt` file, a folder of them, or standard input. Only for predictions."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import cast

from spanwise.document import Document
from spanwise.errors import FormatError
from spanwise.formats import FORMATS, Report
from spanwise.formats.base import Probe
from spanwise.formats.reading import MAX_RECORD, Reader, not_utf8

TEXT = "text"  # what plain text is called where a format is named
_SUFFIX = ".txt"
_JSON = re.compile(rb"\{|\[\s*[{\]]")  # a text may well begin with a bracket


def is_plain(source: str) -> bool:
    """Whether the input is plain text: standard input that is no JSON, or `.txt` files that no format claims."""
    if source == "-":
        return _is_text(_beginning_of_input())
    path = Path(source)
    if not (path.is_file() or path.is_dir()) or any(format.matches(Probe.of(path)) for format in FORMATS.values()):
        return False
    if path.is_dir():
        return bool(_text_files(path))
    with path.open("rb") as stream:
        return _is_suffix(path) and _is_text(_beginning(stream.read(4096)))


def read_texts(source: str, *, skip_bad: bool, report: Report) -> Iterator[Document]:
    """One document per text, unchanged. Its id is the name of the file, in a folder the path from there."""
    path = Path(source)
    if source == "-":
        files: list[tuple[Path | None, str]] = [(None, "")]
    elif path.is_dir():
        files = [(file, file.relative_to(path).as_posix()) for file in _text_files(path)]
    else:
        files = [(path, path.name)]
    if not files:
        raise FormatError(f"this folder holds no {_SUFFIX} files; give a folder that does.", path)
    for file, id in files:
        yield from text_of(Reader(file, None, skip_bad, report), id)


def read_lines(source: str, *, skip_bad: bool, report: Report) -> Iterator[Document]:
    """One document per line of a text file."""
    return lines_of(Reader(None if source == "-" else Path(source), None, skip_bad, report))


def text_of(reader: Reader, id: str) -> Iterator[Document]:
    """The document of one text."""
    return reader.documents([(None, id)], partial(_parse, reader))


def lines_of(reader: Reader) -> Iterator[Document]:
    """A document per line."""
    lines = ((line.number, line) for line in reader.lines())
    return reader.documents(lines, lambda line: [Document(line.decode())])


def _parse(reader: Reader, id: str) -> list[Document]:
    with reader.open() as stream:
        raw = stream.read(MAX_RECORD + 1)
    reader.report.bytes_read += len(raw)
    if len(raw) > MAX_RECORD:
        raise FormatError(f"the text is longer than {MAX_RECORD // 2**20} MB; split it into several.")
    try:
        return [Document(raw.removeprefix(codecs.BOM_UTF8).decode(), id=id)]
    except UnicodeDecodeError as error:
        raise not_utf8(error.object[error.start], 1 + error.object.count(b"\n", 0, error.start)) from None


def _text_files(folder: Path) -> list[Path]:
    """The text files below a folder, by name; hidden files and folders are left out."""
    found = (path for path in folder.rglob("*") if _is_suffix(path) and path.is_file())
    return sorted(p for p in found if not any(part.startswith(".") for part in p.relative_to(folder).parts))


def _is_suffix(path: Path) -> bool:
    return path.suffix.lower() == _SUFFIX


def _is_text(beginning: bytes) -> bool:
    return bool(beginning) and not _JSON.match(beginning)


def _beginning(raw: bytes) -> bytes:
    return raw.removeprefix(codecs.BOM_UTF8).lstrip()


def _beginning_of_input() -> bytes:
    """How standard input begins. Nothing is taken from it but blank lines that come before all else in a pipe."""
    stream = cast(BufferedReader, sys.stdin.buffer)
    while (head := stream.peek(1)) and not _beginning(head):
        stream.read(len(head))
    return _beginning(head)
