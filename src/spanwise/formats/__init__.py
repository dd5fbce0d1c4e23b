"""File formats: each a reader and a writer of documents. A new one is a module and a line in `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from spanwise.document import Document
from spanwise.errors import FormatError, UnknownFormatError
from spanwise.formats.ace import ACE, ACE_EVENTS
from spanwise.formats.base import Format, Probe
from spanwise.formats.brat import BRAT
from spanwise.formats.conll import CONLL, CONLL_WEIBO
from spanwise.formats.conll2012 import CONLL_2012
from spanwise.formats.doccano import DOCCANO
from spanwise.formats.dygie import DYGIE
from spanwise.formats.entity_table import CSV
from spanwise.formats.events import EVENT_TYPES, UNTYPED, triggers_only
from spanwise.formats.fields import short_repr
from spanwise.formats.foreign import described, is_read_as
from spanwise.formats.huggingface import HUGGINGFACE, HUGGINGFACE_TAGS
from spanwise.formats.jsonl import JSONL
from spanwise.formats.kbp import KBP, KBP_NAMES
from spanwise.formats.label_studio import LABEL_STUDIO
from spanwise.formats.listing import is_list
from spanwise.formats.msra import MSRA
from spanwise.formats.oneie import ONEIE
from spanwise.formats.ontonotes import ONTONOTES
from spanwise.formats.prodigy import PRODIGY
from spanwise.formats.reading import Reader
from spanwise.formats.report import Report
from spanwise.formats.spacy_docs import SPACY
from spanwise.formats.spert import SPERT
from spanwise.formats.webanno import WEBANNO
from spanwise.formats.writing import Writer

__all__ = [
    "EVENT_TYPES", "FORMATS", "UNTYPED", "Format", "Report", "detect", "format_for_reading", "format_for_writing",
    "parse_columns", "read", "triggers_only", "write",
]  # fmt: skip

# In the order in which a file is tried.
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        format.name: format
        for format in (
            *(BRAT, ACE, ACE_EVENTS, CONLL_2012, ONTONOTES, KBP, KBP_NAMES),
            *(WEBANNO, HUGGINGFACE, HUGGINGFACE_TAGS, SPACY, LABEL_STUDIO, PRODIGY, DOCCANO, CSV),
            *(DYGIE, ONEIE, SPERT, JSONL, CONLL_WEIBO, MSRA, CONLL),
        )
    }
)


_MOST_HELD = 1000  # documents without an entity, before labels in another field are taken for those of another tool


def read(
    path: Path | str,
    format: str | None = None,
    *,
    scheme: str | None = None,
    tag_columns: Sequence[int] = (),
    annotator: str | None = None,
    skip_bad: bool = False,
    report: Report | None = None,
) -> Iterator[Document]:
    """The documents of a file, one by one. `-` is standard input in spanwise's own format.

    The format is detected when it is not named, and so is the tag scheme of a CoNLL file. `tag_columns`, counted from
    1, are the columns of a CoNLL file whose tags are read, by default the last; the entities of all of them are merged.
    Where a text has the annotations of several annotators, `annotator` is the name of one, "majority" for what more
    than half of them marked, or "each" for a document per annotator; without a choice such a text is a bad record.
    A bad record ends the reading with its place, or is counted in the report and passed over with `skip_bad`.
    """
    standard = str(path) == "-"
    name = format_for_reading(path, format, tag_columns)
    chosen = _named(name)
    if standard and chosen is not JSONL:
        raise FormatError(f"standard input can only be read as 'jsonl', not as {name!r}; give a file.")
    if not standard:
        _check_readable(Path(path))
        if Path(path).is_dir() and not chosen.is_folder:
            raise FormatError(f"this is a folder, but {name!r} is one file; give a file in it.", path)
    if annotator is not None and not chosen.holds_annotators:
        raise FormatError(f"files of {name!r} do not name annotators; leave the annotator out.", path)
    report = Report() if report is None else report
    reader = Reader(None if standard else Path(path), scheme, skip_bad, report, tuple(tag_columns), annotator)
    from_list = chosen.is_folder and is_list(Path(path))
    guessed = format is None and not tag_columns and not standard and not from_list
    hint = partial(_other_format, reader.path, chosen, guessed=guessed)
    return _counted(_refuse_unread_labels(_explained(chosen.read(reader), hint), reader), reader, hint)


def write(
    documents: Iterable[Document],
    path: Path | str,
    format: str | None = None,
    *,
    scheme: str = "IOB2",
    split_sentences: bool = False,
    lossy: bool = False,
    model_version: str | None = None,
    report: Report | None = None,
) -> None:
    """Write documents to a file that appears whole or not at all. `-` is standard output in spanwise's own format.

    What the format cannot hold is refused; with `lossy` it is left out and counted in the report. With
    `split_sentences` a CoNLL file gets the sentences of each document, and otherwise a sentence for each document.
    With `model_version` the annotations are written as predictions of that model, with their scores, where the format
    can tell them from those of people.
    """
    name = format or format_for_writing(path)
    chosen = _named(name)
    if chosen.write is None:
        raise FormatError(f"the format {name!r} can be read but not written; write 'jsonl' or 'conll' instead.", path)
    standard = str(path) == "-"
    if standard and chosen is not JSONL:
        raise FormatError(f"only 'jsonl' can go to standard output, not {name!r}; name a file.")
    if model_version is not None and not chosen.holds_predictions:
        able = ", ".join(format.name for format in FORMATS.values() if format.holds_predictions)
        raise FormatError(
            f"{name!r} cannot mark annotations as predictions; leave the model version out, or write {able}."
        )
    report = Report() if report is None else report
    writer = Writer(None if standard else Path(path), scheme, lossy, report, split_sentences, model_version)
    held = documents if chosen.holds_heads else map(writer.without_heads, documents)
    try:
        chosen.write(held, writer)
    except FormatError as error:
        if error.path is not None:
            raise
        raise type(error)(error.reason, path, error.line) from None


def format_for_reading(path: Path | str, format: str | None = None, tag_columns: Sequence[int] = ()) -> str:
    """The name of the format that a file is read as: the one that is named, CoNLL for tag columns, or detected."""
    if tag_columns and format not in {None, CONLL.name, CONLL_WEIBO.name}:
        raise FormatError(f"tag columns belong to CoNLL files, not to {format!r}; leave them out.", path)
    if format is not None:
        return format
    if tag_columns:
        return CONLL.name
    return JSONL.name if str(path) == "-" else detect(path)


def parse_columns(text: str | None) -> tuple[int, ...]:
    """The columns that a text such as `2,3` names."""
    try:
        return tuple(int(column) for column in text.split(",")) if text else ()
    except ValueError:
        raise FormatError(f"the tag columns {text!r} are not numbers with commas between, such as 2,3.") from None


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
    if probe.tool:
        raise FormatError(f"{described(probe.tool)}.", path)
    if name := _by_suffix(path):
        return name
    problem = (
        "this is a folder without .ann files or those of a corpus; give one file, or choose its format"
        if path.is_dir()
        else "the format is not recognized; choose it"
    )
    raise UnknownFormatError(f"{problem}: one of {', '.join(FORMATS)}.", path)


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


def _explained(documents: Iterator[Document], hint: Callable[[], str]) -> Iterator[Document]:
    """The documents; an error in the first record says what the file may be instead."""
    read = False
    try:
        for document in documents:
            read = True
            yield document
    except FormatError as error:
        if read:
            raise
        raise FormatError(error.reason + hint(), error.path, error.line) from None


def _other_format(path: Path | None, chosen: Format, *, guessed: bool) -> str:
    """A sentence about the tool that the file seems to come from, or about the format that was guessed."""
    tool = Probe.of(path).tool if path is not None else None
    if tool and not is_read_as(tool, chosen.name):
        return f" But {described(tool)}."
    if not guessed or not chosen.example or "\n" in chosen.example:  # a line of its own says what the file is
        return ""
    return (
        f" The format {chosen.name!r} is a guess; a record of it looks like this: {chosen.example}. "
        f"If the file has another format, name it."
    )


def _counted(documents: Iterator[Document], reader: Reader, hint: Callable[[], str]) -> Iterator[Document]:
    read, bad = 0, reader.report.bad
    for document in documents:
        read += 1
        reader.report.read += 1
        yield document
    if not read and reader.annotator and reader.annotators:
        names = ", ".join(sorted(reader.annotators))
        raise FormatError(
            f"there is no annotation by {short_repr(reader.annotator)}; choose from {names}.", reader.name
        )
    if not read:
        bad = reader.report.bad - bad
        problem = f"{_all_bad(bad)}: {reader.report.errors[0]}" if bad else "it is empty"
        raise FormatError(f"the file holds no documents: {problem}{hint() if bad else ''}", reader.name)


def _refuse_unread_labels(documents: Iterator[Document], reader: Reader) -> Iterator[Document]:
    """The documents; refused where there is no entity in them, but a field that looks like labels.

    While that is open, documents are held back: the refusal comes before anything is done with them.
    """
    held: list[Document] = []
    marked = False
    for document in documents:
        held.append(document)
        marked = marked or bool(document.entities)
        if marked or not reader.unread_labels:
            yield from held
            held.clear()
        elif len(held) == _MOST_HELD:
            break
    if held and reader.unread_labels:
        raise FormatError(reader.unread_labels.sentence(), reader.name)


def _all_bad(records: int) -> str:
    return "its only record is bad" if records == 1 else f"all of its {records:,} records are bad, the first"
