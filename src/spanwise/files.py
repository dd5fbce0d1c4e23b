"""The one writer of files: each is written beside its place, then renamed into it, so that it appears whole."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from spanwise.errors import FormatError

PARTIAL = re.compile(r"\..+\.part|\.tmp[A-Za-z0-9]{6}", re.DOTALL)  # the second is safetensors' own


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A path to write to; on success it takes the place of `path`, or of what that links to, on failure it is gone.

    The path lies in a folder of its own: some writers, such as safetensors, put temporary files beside their target.
    """
    final = _resolved(path)
    room = _draft(final)
    room.mkdir()
    draft = room / final.name
    try:
        draft.touch(exist_ok=False)
        mode = draft.stat().st_mode  # as the user's umask has it: some writers make files that only the owner reads
        yield draft
        with draft.open("r+b") as stream:
            os.fsync(stream.fileno())
        draft.chmod(mode)
        draft.replace(final)
    finally:
        shutil.rmtree(room, ignore_errors=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A folder to fill; on success it takes the place of `path`, new or an empty folder, on failure it is gone."""
    final = _resolved(path)
    draft = _draft(final)
    draft.mkdir()
    try:
        yield draft
        draft.replace(final)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def remove_partial_files(folder: Path) -> None:
    """Remove what a killed process left half-written in a folder that nobody else writes to."""
    for draft in filter(is_partial, folder.iterdir()):
        shutil.rmtree(draft) if draft.is_dir() else draft.unlink()


def is_partial(path: Path) -> bool:
    """Whether a writer of this or an earlier version made it on its way to a file: `.name.….part` or `.tmpAb12Cd`."""
    return PARTIAL.fullmatch(path.name) is not None


def check_target(path: Path) -> None:
    """Refuse to write where there is no folder: a mistyped path is not created."""
    if not path.parent.is_dir():
        raise FormatError(f"the folder {str(path.parent)!r} does not exist; create it first.", path)


def write_text(path: Path, text: str) -> None:
    with atomic_file(path) as draft:
        draft.write_text(text, encoding="utf-8")


def _resolved(path: Path) -> Path:
    """Where the path leads, in a folder that exists."""
    final = Path(os.path.realpath(path))
    final.parent.mkdir(parents=True, exist_ok=True)
    return final


def _draft(final: Path) -> Path:
    """A name of its own for each writer, short enough for any file system."""
    return final.with_name(f".{final.name[:50]}.{uuid4().hex}.part")
