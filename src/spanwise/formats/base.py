"""What a format is: a name, a reader, a writer, and how its files are recognized."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanwise.document import Document
from spanwise.errors import FormatError
from spanwise.formats import json_array
from spanwise.formats.foreign import tool_of_file
from spanwise.formats.reading import HEAD, MAX_RECORD, Reader, json_object, line_end
from spanwise.formats.report import Report
from spanwise.formats.writing import Writer


@dataclass(frozen=True)
class Probe:
    """The beginning of an input: enough to recognize its format."""

    path: Path
    head: bytes = b""
    lines: tuple[str, ...] = ()
    value: Any = None  # the first JSON value of an array or of JSON lines

    @property
    def record(self) -> dict[str, Any] | None:
        return self.value if isinstance(self.value, dict) else None

    @property
    def tool(self) -> str | None:
        """The other tool that writes such files, if it is known."""
        return None if self.path.is_dir() else tool_of_file(self.path, self.lines, self.value)

    @classmethod
    def of(cls, path: Path) -> Probe:
        if path.is_dir():
            return cls(path)
        with path.open("rb") as stream:
            head = stream.read(HEAD)
        lines = head.decode("utf-8-sig", errors="replace").split(line_end(head).decode())
        if len(head) == HEAD and len(lines) > 1:
            lines.pop()
        rows = tuple(line.rstrip("\r") for line in lines)
        return cls(path, head, rows, _first_value(path, "".join(lines).lstrip()[:1]))


def _first_value(path: Path, opening: str) -> Any:
    """The first value of a JSON array, or the first object of JSON lines; None if there is none."""
    try:
        if opening == "[":
            with path.open("rb") as stream:
                return next((value for _, value in json_array.elements(stream, MAX_RECORD)), None)
        if opening == "{":
            lines = Reader(path, None, skip_bad=False, report=Report()).lines()
            first = next((line.raw for line in lines if line.raw.strip()), b"")
            return json_object(first.decode(errors="replace"))
    except FormatError:
        pass  # the reader reports a broken record, with its line
    return None


@dataclass(frozen=True)
class Format:
    """`needs_words`: the format holds words, so that a document must be segmented before it is written.
    `holds_heads`: it has a place for head regions; where it has none, they are refused or counted for it.
    `holds_annotators`: it says who annotated, so that one annotator can be chosen. `holds_predictions`: it can mark
    annotations as those of a model. `is_folder`: it is a folder of files, not one file. `whole_texts`: its
    records are texts, even if it holds words; those of other formats of words are sentences. `example`: one record, for
    messages; empty for a binary format."""

    name: str
    matches: Callable[[Probe], bool]
    read: Callable[[Reader], Iterator[Document]]
    write: Callable[[Iterable[Document], Writer], None] | None
    needs_words: bool
    example: str
    holds_heads: bool = False
    holds_annotators: bool = False
    holds_predictions: bool = False
    suffixes: tuple[str, ...] = ()
    is_folder: bool = False
    whole_texts: bool = False
