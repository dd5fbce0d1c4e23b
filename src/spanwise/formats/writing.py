"""A file being written: it appears whole, by rename, and what the format cannot hold is refused or counted."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Any, BinaryIO

from spanwise.document import Document
from spanwise.errors import FormatError, LossyError
from spanwise.files import atomic_file, atomic_folder, check_target
from spanwise.formats.fields import short_repr
from spanwise.formats.report import Report

BOM = "\ufeff"
_UNSAFE = re.compile(r'[/\\%<>:"|?*\x00-\x1f]|^\.')


@dataclass
class Writer:
    """One output and how to write it. `path` is None for standard output."""

    path: Path | None
    scheme: str
    lossy: bool
    report: Report
    split_sentences: bool = False  # write the sentences of a document where a format has a place for them (CoNLL)
    model_version: str | None = None  # the annotations are predictions of this model

    def note(self, text: str) -> None:
        self.report.notes.append(f"{'standard output' if self.path is None else self.path.name}: {text}")

    def file(self, chunks: Iterable[bytes]) -> None:
        """Write the chunks; the file appears when all of them are there."""
        with self.open() as stream:
            for chunk in chunks:
                stream.write(chunk)

    def each(self, documents: Iterable[Document], encode: Callable[[Document], str | None]) -> Iterator[bytes]:
        """Encode documents one by one; None means that a document was left out, and has been counted."""
        for document in documents:
            if (text := encode(document)) is not None:
                self.report.written += 1
                yield self.encoded(text, document)

    def encoded(self, text: str, document: Document) -> bytes:
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            reason = f"{named(document)} holds an unpaired surrogate ({text[error.start]!a}); repair the text."
            raise FormatError(reason, self.path) from None

    def drop_or_refuse(self, document: Document, kind: str, count: int = 1) -> None:
        """Refuse what the format cannot hold, or count it when the user accepts the loss."""
        if count and not self.lossy:
            raise LossyError(
                f"{named(document)} has {count} x {kind}, which this format cannot store; "
                f"choose another format, or drop it with --lossy (lossy=True).",
                self.path,
            )
        self.count_dropped(kind, count)

    def without_heads(self, document: Document) -> Document:
        """The document without its head regions, for a format that has no place for them."""
        heads = sum(entity.head is not None for entity in document.entities)
        if not heads:
            return document
        self.drop_or_refuse(document, "head region", heads)
        return document.with_annotations((replace(e, head=None) for e in document.entities), document.relations)

    def count_dropped(self, kind: str, count: int = 1) -> None:
        """Count what is left out without asking: a score, an id, metadata, spacing. Never a label."""
        if count:
            self.report.dropped[kind] += count

    def count_unsupported(self, document: Document, *, id: bool = False, metadata: Iterable[str] = ()) -> None:
        """Count the scores, and the id and metadata keys, of a document whose format has no place for them."""
        scores = [entity.score for entity in document.entities] + [relation.score for relation in document.relations]
        self.count_dropped("score", sum(score != 1.0 for score in scores))
        self.count_dropped("id", bool(id and document.id))
        self.count_dropped("metadata", bool(set(document.metadata) - set(metadata)))

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The file to write to, which appears under its name when all is written."""
        if self.path is None:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        check_target(self.path)
        if self.path.is_dir():
            raise FormatError("this is a folder; give the name of a file in it.", self.path)
        if self.path.exists() and not self.path.is_file():  # a device or a pipe: nothing to rename
            with self.path.open("wb") as stream:
                yield stream
            return
        with atomic_file(self.path) as draft, draft.open("wb") as stream:
            yield stream

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A folder to fill, which appears under its name when all is written."""
        if self.path is None:
            raise FormatError("this format is a folder of files and cannot go to standard output; name a folder.")
        check_target(self.path)
        if self.path.exists() and not (self.path.is_dir() and not any(self.path.iterdir())):
            raise FormatError("this already exists; name a new folder, or remove the old one first.", self.path)
        with atomic_folder(self.path) as draft:
            yield draft


def dumps(value: Any, document: Document) -> str:
    """JSON on one line; what JSON cannot say is refused with the document's name."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        reason = (
            f"{named(document)} holds a value that JSON cannot ({error}); remove it from the metadata or the scores."
        )
        raise FormatError(reason) from None


def array_chunks(records: Iterable[bytes]) -> Iterator[bytes]:
    """A JSON array with a record on each line."""
    opening = b"[\n"
    for record in records:
        yield opening + record
        opening = b",\n"
    yield b"\n]\n" if opening == b",\n" else b"[]\n"


def named(document: Document) -> str:
    return f"document {short_repr(document.id)}" if document.id else f"the document {short_repr(document.text)}"


def guard_bom(text: str) -> str:
    """A text that begins with U+FEFF gets a byte order mark before it: readers take one away."""
    return BOM + text if text.startswith(BOM) else text


def free_path(folder: Path, document: Document, number: int, suffix: str) -> Path:
    """A file named for the document's id, or for its number if it has none, and numbered if another has that name."""
    name = _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", document.id)
    stem = name if 0 < len(name.encode()) <= 200 else f"document-{number:06}"
    stems = chain([stem], (f"{stem}-{further}" for further in count(number)))
    return next(path for path in (folder / f"{stem}{suffix}" for stem in stems) if not path.exists())
