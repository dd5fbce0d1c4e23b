"""File formats: each a reader and a writer of documents. A new one is a module and a line in `FORMATS`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from spanwise.document import Document
from spanwise.errors import FormatError
from spanwise.formats.base import Format, Probe
from spanwise.formats.brat import BRAT
from spanwise.formats.conll import CONLL, CONLL_WEIBO
from spanwise.formats.dygie import DYGIE
from spanwise.formats.events import EVENT_TYPES, UNTYPED, triggers_only
from spanwise.formats.jsonl import JSONL
from spanwise.formats.oneie import ONEIE
from spanwise.formats.reading import Reader
from spanwise.formats.report import Report
from spanwise.formats.spert import SPERT
from spanwise.formats.writing import Writer

__all__ = [
    "EVENT_TYPES", "FORMATS", "UNTYPED", "Format", "Report", "detect", "format_for_writing", "read", "triggers_only",
    "write",
]  # fmt: skip

# In the order in which a file is tried.
FORMATS: Mapping[str, Format] = MappingProxyType(
    {format.name: format for format in (BRAT, DYGIE, ONEIE, SPERT, JSONL, CONLL_WEIBO, CONLL)}
)


def read(
    path: Path | str,
    format: str | None = None,
    *,
    scheme: str | None = None,
    skip_bad: bool = False,
    report: Report | None = None,
) -> Iterator[Document]:
    """The documents of a file, one by one. `-` is standard input in spanwise's own format.

    The format is detected when it is not named, and so is the tag scheme of a CoNLL file. A bad record ends the
    reading with its place, or is counted in the report and passed over with `skip_bad`.
    """
    standard = str(path) == "-"
    name = format or ("jsonl" if standard else detect(path))
    chosen = _named(name)
    if standard and chosen is not JSONL:
        raise FormatError(f"standard input can only be read as 'jsonl', not as {name!r}; give a file.")
    if not standard:
        _check_readable(Path(path))
        if Path(path).is_dir() and not chosen.is_folder:
            raise FormatError(f"this is a folder, but {name!r} is one file; give a file in it.", path)
    reader = Reader(None if standard else Path(path), scheme, skip_bad, Report() if report is None else report)
    return _counted(chosen.read(reader), reader)


def write(
    documents: Iterable[Document],
    path: Path | str,
    format: str | None = None,
    *,
    scheme: str = "IOB2",
    lossy: bool = False,
    report: Report | None = None,
) -> None:
    """Write documents to a file that appears whole or not at all. `-` is standard output in spanwise's own format.

    What the format cannot hold is refused; with `lossy` it is left out and counted in the report.
    """
    name = format or format_for_writing(path)
    chosen = _named(name)
    if chosen.write is None:
        raise FormatError(f"the format {name!r} can be read but not written; write 'conll' instead.", path)
    standard = str(path) == "-"
    if standard and chosen is not JSONL:
        raise FormatError(f"only 'jsonl' can go to standard output, not {name!r}; name a file.")
    writer = Writer(None if standard else Path(path), scheme, lossy, Report() if report is None else report)
    held = documents if chosen.holds_heads else map(writer.without_heads, documents)
    try:
        chosen.write(held, writer)
    except FormatError as error:
        if error.path is not None:
            raise
        raise type(error)(error.reason, path, error.line) from None


def detect(path: Path | str) -> str:
    """The name of a file's format, by its content, then by its extension."""
    path = Path(path)
    _check_readable(path)
    probe = Probe.of(path)
    if not path.is_dir() and not any(line.strip() for line in probe.lines):
        raise FormatError("the file is empty: it holds no documents.", path)
    for format in FORMATS.values():
        if format.matches(probe):
            return format.name
    if name := _by_suffix(path):
        return name
    problem = (
        "this is a folder without .ann files; give one file, or choose its format"
        if path.is_dir()
        else "the format is not recognized; choose it"
    )
    raise FormatError(f"{problem}: one of {', '.join(FORMATS)}.", path)


def format_for_writing(path: Path | str) -> str:
    """The name of the format that a file's extension stands for."""
    if str(path) == "-":
        return "jsonl"
    if name := _by_suffix(Path(path)):
        return name
    raise FormatError(
        f"the extension {Path(path).suffix!r} does not determine the format; choose one of {', '.join(FORMATS)}.",
        path,
    )


def _by_suffix(path: Path) -> str | None:
    return next((format.name for format in FORMATS.values() if path.suffix.lower() in format.suffixes), None)


def _named(name: str) -> Format:
    if name not in FORMATS:
        raise FormatError(f"the format {name!r} is unknown; choose one of {', '.join(FORMATS)}.")
    return FORMATS[name]


def _check_readable(path: Path) -> None:
    if not path.exists():
        raise FormatError("no such file or folder; check the path.", path)
    if not path.is_file() and not path.is_dir():
        raise FormatError(
            "a pipe or device is read only once, but a file twice; save it, or send JSON lines to '-'.", path
        )


def _counted(documents: Iterator[Document], reader: Reader) -> Iterator[Document]:
    read, bad = 0, reader.report.bad
    for document in documents:
        read += 1
        reader.report.read += 1
        yield document
    if not read:
        bad = reader.report.bad - bad
        problem = f"{_all_bad(bad)}: {reader.report.errors[0]}" if bad else "it is empty"
        raise FormatError(f"the file holds no documents: {problem}", reader.name)


def _all_bad(records: int) -> str:
    return "its only record is bad" if records == 1 else f"all of its {records:,} records are bad, the first"
