"""What a batch writes: OUT in the format that was asked for, and beside it the bad records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from spanwise import formats
from spanwise.errors import FormatError
from spanwise.files import check_target
from spanwise.formats import FORMATS, Report, tables
from spanwise.formats.jsonl import JSONL
from spanwise.formats.report import BadRecord
from spanwise.formats.urls import UrlWriter, file_system, is_url
from spanwise.formats.writing import Writer
from spanwise.inference.batch.folders import Folder, LocalFolder, UrlFolder
from spanwise.inference.batch.store import Parts, documents

PARTS, BAD = ".parts", ".bad.jsonl"  # after the name of OUT
_STREAMED = {JSONL.name, *tables.WRITERS}


def output_format(target: str, named: str | None) -> str:
    """The format of the output: the one that is named, or the one that its extension stands for."""
    found = named or tables.SUFFIXES.get(Path(target).suffix.lower()) or formats.format_for_writing(target)
    if found not in FORMATS and found not in tables.WRITERS:
        choice = ", ".join([*(name for name, format in FORMATS.items() if format.write), *tables.WRITERS])
        raise FormatError(f"the format {found!r} is unknown; choose one of {choice}.")
    return found


@dataclass(frozen=True)
class Output:
    """One file, or one folder for a format that is a folder. A format that can tell predictions names the model."""

    target: str
    format: str
    lossy: bool = False
    model: str | None = None

    def check(self) -> None:
        """Refuse what cannot be written, before anything is predicted."""
        if is_url(self.target):
            if self.format not in _STREAMED:
                raise FormatError(f"behind a URL, OUT is one of {', '.join(sorted(_STREAMED))}.", self.target)
            return
        path = Path(self.target)
        check_target(path)
        if path.is_dir() and not (self.format in FORMATS and FORMATS[self.format].is_folder):
            raise FormatError("this is a folder; give the name of a file in it.", path)

    def folder(self) -> Folder:
        """Where the parts are kept until OUT is written."""
        name = self.target.rstrip("/") + PARTS
        return UrlFolder(name) if is_url(name) else LocalFolder(Path(name))

    def write(self, parts: Parts, report: Report) -> None:
        """Join the parts in the order of the input; OUT appears when it is complete."""
        if self.format == JSONL.name:
            self._writer(self.target, report).file(_counted(parts.lines(), report))
        elif self.format in tables.WRITERS:
            tables.WRITERS[self.format](documents(parts), self._writer(self.target, report))
        else:
            version = self.model if FORMATS[self.format].holds_predictions else None
            options: dict[str, Any] = {"lossy": self.lossy, "model_version": version, "report": report}
            formats.write(documents(parts), self.target, self.format, **options)

    def write_bad(self, parts: Parts) -> str | None:
        """Write the bad records, if there are any, and give the name of the file; one of an earlier run is removed."""
        name, records = self.target + BAD, (record for head in parts.heads() for record in head.bad)
        first = next(records, None)
        if first is None:
            _remove(name)
            return None
        self._writer(name, Report()).file(_bad_lines(first, records))
        return name

    def _writer(self, target: str, report: Report) -> Writer:
        if is_url(target):
            return UrlWriter(Path(Path(target).name), "", self.lossy, report, url=target)
        return Writer(Path(target), "", self.lossy, report)


def _counted(lines: Iterator[bytes], report: Report) -> Iterator[bytes]:
    for line in lines:
        report.written += 1
        yield line


def _bad_lines(first: BadRecord, others: Iterator[BadRecord]) -> Iterator[bytes]:
    for record in chain([first], others):
        yield json.dumps(record._asdict(), ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _remove(name: str) -> None:
    if not is_url(name):
        Path(name).unlink(missing_ok=True)
        return
    system, path = file_system(name)
    if system.exists(path):
        system.rm_file(path)
