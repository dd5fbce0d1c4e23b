"""Files appear whole: written beside their place, then renamed into it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to; on success it takes the place of `path`, on failure nothing is left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.touch()
        mode = draft.stat().st_mode  # as the user's umask has it: some writers make files that only the owner reads
        yield draft
        draft.chmod(mode)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def remove_drafts(folder: Path) -> None:
    """Remove what a killed process left half-written in a folder that nobody else writes to."""
    for draft in folder.glob(".*.part"):
        draft.unlink()


def write_text(path: Path, text: str) -> None:
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")
