"""The input cut into parts: a bounded number of documents each, the same parts in every run over the same input."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from spanwise.document import Document
from spanwise.errors import FormatError, InputError
from spanwise.formats import Report
from spanwise.formats.jsonl import encode
from spanwise.formats.report import BadRecord
from spanwise.inference.batch.source import Source

PART_CHARACTERS = 1_000_000  # a part ends after so many characters, however few documents it has


@dataclass(frozen=True)
class Head:
    """A part without its documents: the first line of its file."""

    number: int
    documents: int
    checksum: str  # of the documents that were read
    last: bool
    share: float | None = None  # of the input, where its size is known
    bad: tuple[BadRecord, ...] = ()  # records between the documents of this part and the next
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def is_only(self) -> bool:
        return self.last and self.number == 0

    def to_line(self) -> bytes:
        values = {**asdict(self), "bad": [record._asdict() for record in self.bad]}
        return json.dumps(values, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Head:
        values: dict[str, Any] = json.loads(line)
        values["bad"] = tuple(BadRecord(**record) for record in values["bad"])
        return cls(**{**values, "notes": tuple(values["notes"])})


class Part(NamedTuple):
    """What a worker gets."""

    head: Head
    documents: tuple[Document, ...]


class Result(NamedTuple):
    """What a worker gives: the annotated documents as JSON lines."""

    head: Head
    lines: bytes


class Finished(NamedTuple):
    """The checksums of the parts that a resumed run has already, and the folder that they are in."""

    folder: str
    checksums: Mapping[int, str]


def cut(source: Source) -> Iterator[Part]:
    """The parts of the input, in order. There is always a last one."""
    pending = _Pending(source)
    for document in source.documents(pending.report):
        if pending.is_full():
            yield pending.part(last=False)
        pending.add(document)
    yield pending.part(last=True)


def unfinished(parts: Iterable[Part], finished: Finished) -> Iterator[Part]:
    """The parts that are still to be done; what was finished must have come from the same documents."""
    for part in parts:
        wanted = finished.checksums.get(part.head.number)
        if wanted is None:
            yield part
        elif wanted != part.head.checksum:
            raise InputError(
                f"the input has changed since part {part.head.number} was finished; restore it to resume, or remove "
                f"{finished.folder!r} to start again."
            )


class _Pending:
    """The part that is being filled, and what was reported since the one before."""

    def __init__(self, source: Source) -> None:
        self.source, self.size = source, source.size()
        self.report = Report(bad_records=[])
        self.number, self.bytes_before = 0, 0
        self._clear()

    def _clear(self) -> None:
        self.documents: list[Document] = []
        self.characters, self.digest = 0, hashlib.sha256()

    def is_full(self) -> bool:
        return len(self.documents) >= self.source.part_size or self.characters >= PART_CHARACTERS

    def add(self, document: Document) -> None:
        try:
            line = encode(document)
        except FormatError as error:
            if not self.source.skip_bad:
                raise
            self.report.add_bad(error, document.text)
            return
        self.documents.append(document)
        self.characters += len(document.text)
        self.digest.update(line.encode("utf-8", "surrogatepass"))

    def part(self, *, last: bool) -> Part:
        report, bad = self.report, self.report.bad_records or []
        self.digest.update(b"last" if last else b"")  # an input that has become longer or shorter has changed
        head = Head(
            self.number,
            len(self.documents),
            self.digest.hexdigest(),
            last,
            self._share(),
            tuple(bad),
            dict(report.dropped),
            tuple(report.notes),
        )
        part = Part(head, tuple(self.documents))
        for kept in (report.dropped, report.notes, bad):
            kept.clear()
        self.number += 1
        self._clear()
        return part

    def _share(self) -> float | None:
        read = self.report.bytes_read - self.bytes_before
        self.bytes_before = self.report.bytes_read
        return min(1.0, read / self.size) if self.size and self.report.bytes_read else None
