"""The folder that finished parts are kept in: on this machine, or behind a URL."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from spanwise.errors import InputError
from spanwise.files import atomic_file, is_partial, remove_partial_files
from spanwise.formats.urls import file_system

LOCK = "lock"


class Folder(Protocol):
    """Files by name. A file is there whole or not at all."""

    name: str

    def files(self) -> list[str]:
        """The names of the files; none if there is no folder."""
        ...

    def open(self, name: str) -> BinaryIO: ...

    def write(self, name: str, content: bytes) -> None:
        """Write a file; the folder is made with the first one."""
        ...

    def remove(self, names: Iterable[str]) -> None:
        """Remove these files, in this order."""
        ...

    def remove_folder(self) -> None: ...

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Refuse a second run, where the file system has locks."""
        ...


class LocalFolder:
    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)

    def files(self) -> list[str]:
        if not self.path.is_dir():
            return []
        return sorted(path.name for path in self.path.iterdir() if path.name != LOCK and not is_partial(path))

    def open(self, name: str) -> BinaryIO:
        return (self.path / name).open("rb")

    def write(self, name: str, content: bytes) -> None:
        with atomic_file(self.path / name) as draft:
            draft.write_bytes(content)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            (self.path / name).unlink(missing_ok=True)

    def remove_folder(self) -> None:
        shutil.rmtree(self.path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock until the process ends, in whichever way; then remove what a killed one left half-written."""
        self.path.mkdir(exist_ok=True)
        with (self.path / LOCK).open("wb") as stream:
            with suppress(ImportError):  # Windows
                import fcntl

                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise InputError(
                        f"another process is writing to {self.name!r}; wait for it, or choose another OUT."
                    ) from None
            remove_partial_files(self.path)
            yield


class UrlFolder:
    def __init__(self, url: str) -> None:
        self.name = url
        self.system, self.path = file_system(url)

    def files(self) -> list[str]:
        self.system.invalidate_cache()
        return sorted(Path(name).name for name in self.system.find(self.path))

    def open(self, name: str) -> BinaryIO:
        stream: BinaryIO = self.system.open(f"{self.path}/{name}", "rb")
        return stream

    def write(self, name: str, content: bytes) -> None:
        self.system.makedirs(self.path, exist_ok=True)
        with self.system.transaction, self.system.open(f"{self.path}/{name}", "wb") as stream:
            stream.write(content)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            self.system.rm_file(f"{self.path}/{name}")

    def remove_folder(self) -> None:
        with suppress(FileNotFoundError):  # an object store has no folders
            self.system.rm(self.path, recursive=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        yield
