"""Files behind a URL, in any file system that fsspec knows: s3, gs, hdfs, memory and others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from spanwise.errors import FormatError
from spanwise.formats.extras import optional_module
from spanwise.formats.reading import Reader
from spanwise.formats.report import Report
from spanwise.formats.writing import Writer


def is_url(path: str) -> bool:
    return "://" in path


def file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    fsspec = optional_module("fsspec", "tables", "a URL")
    try:
        system, path = fsspec.core.url_to_fs(url)
    except (ValueError, ImportError) as error:
        raise FormatError(f"this URL cannot be opened ({error}); check its protocol.", url) from None
    return system, path


def files_below(url: str, suffixes: tuple[str, ...]) -> list[str]:
    """The URL of a file, or those of the files in a folder with one of these suffixes, by name; hidden ones are not."""
    system, path = file_system(url)
    if system.isfile(path):
        return [url]
    if not system.isdir(path):
        raise FormatError("no such file or folder; check the URL.", url)
    found = (name for name in sorted(system.find(path)) if name.lower().endswith(suffixes))
    return [system.unstrip_protocol(name) for name in found if not Path(name).name.startswith((".", "_"))]


@dataclass
class UrlReader(Reader):
    """A file behind a URL."""

    url: str = ""

    @classmethod
    def of(cls, url: str, skip_bad: bool, report: Report) -> UrlReader:
        return cls(Path(url.rpartition("/")[2]), None, skip_bad, report, url=url)

    @property
    def name(self) -> str:
        return self.url

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        system, path = file_system(self.url)
        with system.open(path, "rb") as stream:
            yield stream


@dataclass
class UrlWriter(Writer):
    """A file behind a URL: it appears when it is complete, as far as its file system can do that."""

    url: str = ""

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        system, path = file_system(self.url)
        with system.transaction, system.open(path, "wb") as stream:
            yield stream
