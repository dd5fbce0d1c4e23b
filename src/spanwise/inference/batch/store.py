"""Finished parts: one file each, and a manifest that says which run they belong to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from spanwise.document import Document
from spanwise.errors import FormatError, InputError
from spanwise.inference.batch.folders import Folder
from spanwise.inference.batch.parts import Finished, Head, Result

MANIFEST = "manifest.json"
_PART = re.compile(r"part-(\d{6,})\.jsonl")


class Parts(Protocol):
    """All parts of a finished run, in the order of the input."""

    def heads(self) -> Iterator[Head]: ...

    def lines(self) -> Iterator[bytes]:
        """The annotated documents as JSON lines."""
        ...


def documents(parts: Parts) -> Iterator[Document]:
    return (Document.from_dict(json.loads(line)) for line in parts.lines())


class OnlyPart:
    """An input of one part: there is nothing to resume, so it is not stored."""

    def __init__(self, result: Result) -> None:
        self.result = result

    def heads(self) -> Iterator[Head]:
        yield self.result.head

    def lines(self) -> Iterator[bytes]:
        yield from self.result.lines.splitlines(keepends=True)


class PartStore:
    """The parts in a folder. `finished` holds their heads, without bad records and notes, which can be many."""

    def __init__(self, folder: Folder, identity: Mapping[str, Any]) -> None:
        self.folder, self.identity = folder, dict(identity)
        self.finished: dict[int, Head] = {}

    def find(self) -> bool:
        """Whether an earlier run left parts; one with another input, model or options is refused."""
        names = self.folder.files()
        if MANIFEST in names:
            self._check_manifest()
        elif foreign := [name for name in names if not _PART.fullmatch(name)]:
            raise InputError(
                f"{self.folder.name!r} holds {foreign[0]!r}, which is no part of a run; move it, or choose another OUT."
            )
        return MANIFEST in names

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep the folder for this run, with what is finished in it."""
        with self.folder.locked():
            numbers = [int(match[1]) for match in map(_PART.fullmatch, self.folder.files()) if match]
            if self.find():
                for number in numbers:
                    self._keep(self._head(number))
            else:
                self.folder.remove(map(_name, numbers))  # of a run that ended while it was removing them
                content = json.dumps(self.identity, indent=2, ensure_ascii=False) + "\n"
                self.folder.write(MANIFEST, content.encode())
            yield

    def add(self, result: Result) -> None:
        self.folder.write(_name(result.head.number), result.head.to_line() + result.lines)
        self._keep(result.head)

    def checksums(self) -> Finished:
        return Finished(self.folder.name, {number: head.checksum for number, head in self.finished.items()})

    def check_complete(self) -> None:
        """Every part from the first to the last must be there."""
        last = next((number for number, head in self.finished.items() if head.last), -1)
        if sorted(self.finished) != list(range(last + 1)):
            raise InputError(
                f"{self.folder.name!r} holds {len(self.finished):,} parts of {last + 1:,}; run the same command again."
            )

    def heads(self) -> Iterator[Head]:
        return map(self._head, sorted(self.finished))

    def lines(self) -> Iterator[bytes]:
        for number, head in sorted(self.finished.items()):
            count = 0
            with self.folder.open(_name(number)) as stream:
                next(iter(stream))
                for line in stream:
                    count += 1
                    yield line
            if count != head.documents:
                raise FormatError(
                    f"holds {count:,} documents, not {head.documents:,}; remove it and run the same command again.",
                    f"{self.folder.name}/{_name(number)}",
                )

    def remove(self) -> None:
        """Remove all parts; first the manifest, so that nobody takes the rest for finished parts."""
        self.folder.remove([MANIFEST, *map(_name, self.finished)])
        self.folder.remove_folder()

    def _head(self, number: int) -> Head:
        with self.folder.open(_name(number)) as stream:
            return Head.from_line(stream.readline())

    def _keep(self, head: Head) -> None:
        self.finished[head.number] = replace(head, bad=(), dropped={}, notes=())

    def _check_manifest(self) -> None:
        with self.folder.open(MANIFEST) as stream:
            stored = json.load(stream)
        for name in self.identity.keys() | stored.keys():
            if stored.get(name) != self.identity.get(name):
                raise InputError(
                    f"{self.folder.name!r} holds parts of a run with another {name} ({_shown(stored.get(name))}, now "
                    f"{_shown(self.identity.get(name))}); use the same to resume, or remove the folder to start again."
                )


def _name(number: int) -> str:
    return f"part-{number:06}.jsonl"


def _shown(value: object) -> str:
    text = "not set" if value in (None, False, []) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"
