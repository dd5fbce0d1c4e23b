"""The files of a corpus: those below a folder, those that a list names, or one file.

A list is a text file with the extension `.list` in the corpus folder or above it, with the name of a file per line, so
that the splits of a corpus are three lists beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from spanwise.errors import FormatError
from spanwise.formats.fields import short_repr
from spanwise.formats.reading import Reader
from spanwise.plural import counted

LIST = ".list"


@dataclass(frozen=True)
class Source:
    """A file of a corpus. `name` is its path from the corpus folder, without its ending; `line` that of the list."""

    path: Path
    name: str
    line: int | None = None

    @property
    def base(self) -> str:
        return self.name.rpartition("/")[2]


class DocumentKeys:
    """The documents of one read and the file of each, so that none is read twice."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}

    def add(self, key: str, file: str, line: int) -> None:
        if first := self._files.get(key):
            raise FormatError(
                f"the document {short_repr(key)} is given twice, here and in {first}; keep one of them, or give a "
                f"folder of one language.",
                file,
                line,
            )
        self._files[key] = file


def is_list(path: Path) -> bool:
    return path.suffix.lower() == LIST and path.is_file()


def folder_of(path: Path) -> Path:
    """The folder that a corpus lies in: the path itself, or the folder of a list or of another file."""
    return path if path.is_dir() else path.parent


def holds(path: Path, endings: tuple[str, ...]) -> bool:
    """Whether the path is a folder, or a list beside one, with files of these endings; other files are not opened."""
    return (path.is_dir() or is_list(path)) and next(_below(folder_of(path), endings), None) is not None


def sources(
    reader: Reader, endings: tuple[str, ...], prefer: tuple[str, ...] = (), beside: tuple[str, ...] = ()
) -> list[Source]:
    """The files to read, in the order of their names or of the list.

    Where a document lies in several folders, the one in the first folder of `prefer` is read. `beside` are the endings
    of files that belong to those that are read: a list may name them instead.
    """
    path = reader.path
    if path is None:
        raise FormatError("this format is a folder of files and cannot come from standard input; name the folder.")
    if path.is_dir():
        return _without_copies(sorted(_below(path, endings), key=lambda source: source.name), prefer, reader)
    if is_list(path):
        return list(_listed(reader, endings, prefer, beside))
    return [Source(path, _without_ending(path.name, endings))]


def _below(folder: Path, endings: tuple[str, ...]) -> Iterator[Source]:
    for path in folder.rglob("*"):
        if path.name.lower().endswith(endings) and path.is_file():
            yield Source(path, _without_ending(path.relative_to(folder).as_posix(), endings))


def _without_ending(name: str, endings: tuple[str, ...]) -> str:
    fitting = [ending for ending in endings if name.lower().endswith(ending)]
    return name[: -len(max(fitting, key=len))] if fitting else name


def _without_copies(found: list[Source], prefer: tuple[str, ...], reader: Reader) -> list[Source]:
    if not prefer:
        return found
    copies: defaultdict[str, list[Source]] = defaultdict(list)
    for source in found:
        copies[source.base].append(source)
    kept = [_preferred(same, prefer) for same in copies.values()]
    if left := len(found) - len(kept):
        files = counted(left, "file is another version of a document", "files are other versions of a document")
        reader.note(f"{files}; the one in {' or '.join(prefer)} is read")
    return sorted(kept, key=lambda source: source.name)


def _preferred(same: list[Source], prefer: tuple[str, ...]) -> Source:
    """The version of a document to read: that in the first of the preferred folders."""
    ranked = [(prefer.index(s.path.parent.name) if s.path.parent.name in prefer else -1, s) for s in same]
    if len(same) > 1 and (min(rank for rank, _ in ranked) < 0 or len({rank for rank, _ in ranked}) < len(same)):
        places = " and ".join(str(source.path) for source in same[:2])
        raise FormatError(f"{short_repr(same[0].base)} is given twice, in {places}; keep one of them.")
    return min(ranked, key=lambda pair: pair[0])[1]


def _listed(
    reader: Reader, endings: tuple[str, ...], prefer: tuple[str, ...], beside: tuple[str, ...]
) -> Iterator[Source]:
    by_base: defaultdict[str, list[Source]] = defaultdict(list)
    for source in _below(folder_of(Path(reader.name)), endings):
        by_base[source.base].append(source)
    taken: set[Path] = set()
    for line in reader.lines():
        if name := line.decode().strip():
            try:
                source = _named(_without_ending(name, (*endings, *beside)), by_base, prefer)
                if source.path in taken:
                    raise FormatError(f"{short_repr(name)} is listed twice; keep one of the lines.")
            except FormatError as error:
                raise FormatError(error.reason, reader.name, line.number) from None
            taken.add(source.path)
            yield replace(source, line=line.number)


def _named(name: str, by_base: dict[str, list[Source]], prefer: tuple[str, ...]) -> Source:
    """The file of this name: its base name, or as much of its path as tells it from others."""
    wanted = "/" + name.replace("\\", "/").strip("/")
    found = [s for s in by_base.get(wanted.rpartition("/")[2], ()) if f"/{s.name}".endswith(wanted)]
    if not found:
        raise FormatError(f"{short_repr(name)} is not below the folder of the list; correct the name, or add the file.")
    return _preferred(found, prefer)
