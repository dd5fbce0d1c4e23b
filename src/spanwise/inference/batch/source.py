"""What a batch reads: files of any format, plain text, Parquet, a folder of records, a URL, or standard input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spanwise import formats
from spanwise.document import Document
from spanwise.errors import FormatError, InputError, UnknownFormatError
from spanwise.formats import Report, plain
from spanwise.formats.base import Probe
from spanwise.formats.jsonl import JSONL
from spanwise.formats.parquet import PARQUET, SUFFIX, is_parquet, read_rows
from spanwise.formats.reading import Reader
from spanwise.formats.urls import UrlReader, file_system, files_below, is_url

PART_SIZE = 1024  # documents
LINES = "lines"
_KINDS = {**dict.fromkeys(JSONL.suffixes, JSONL.name), SUFFIX: PARQUET}  # of the files in a folder of records


@dataclass(frozen=True)
class Source:
    """An input and how to read it. Unless it is standard input, another process can read it too."""

    path: str
    lines: bool = False
    format: str | None = None
    tag_columns: tuple[int, ...] = ()
    annotator: str | None = None
    text_column: str = "text"
    given: bool = False  # entities of the input are kept
    skip_bad: bool = False
    part_size: int = PART_SIZE

    def resolved(self) -> Source:
        """The same input for a process in another working directory."""
        local = self.path != "-" and not is_url(self.path)
        return replace(self, path=str(Path(self.path).resolve())) if local else self

    def identity(self) -> dict[str, Any]:
        """What must be the same to resume: all that changes which documents are read, or how they are cut."""
        return {
            "input": self.resolved().path,
            "--lines": self.lines,
            "--from": self.format,
            "--tag-columns": list(self.tag_columns),
            "--annotator": self.annotator,
            "--text-column": self.text_column,
            "--part-size": self.part_size,
        }

    def documents(self, report: Report) -> Iterator[Document]:
        """The documents, one by one."""
        if files := self._record_files():
            if self.given and not {kind for _, kind in files}.isdisjoint({plain.TEXT, LINES}):
                raise _no_entities()
            return self._records(files, report)
        if self.lines:
            return plain.read_lines(self.path, skip_bad=self.skip_bad, report=report)
        named = self.format is not None and self.format != plain.TEXT
        if self.tag_columns or named or (self.format is None and not plain.is_plain(self.path)):
            return self._annotated(report)
        if self.given:
            raise _no_entities()
        return plain.read_texts(self.path, skip_bad=self.skip_bad, report=report)

    def size(self) -> int | None:
        """Its bytes, where they are known."""
        if self.path == "-":
            return None
        if is_url(self.path):
            return sum(file_system(url)[0].size(file_system(url)[1]) or 0 for url, _ in self._record_files())
        path = Path(self.path)
        files = path.rglob("*") if path.is_dir() else [path]
        return sum(file.stat().st_size for file in files if file.is_file())

    def _annotated(self, report: Report) -> Iterator[Document]:
        options = {
            "tag_columns": self.tag_columns,
            "annotator": self.annotator,
            "skip_bad": self.skip_bad,
            "report": report,
        }
        try:
            return formats.read(self.path, self.format, **options)  # type: ignore[arg-type]
        except UnknownFormatError as error:
            hint = "name the files of a folder .txt" if Path(self.path).is_dir() else "add --from text"
            raise InputError(f"{str(error).removesuffix('.')}; for plain text {hint}.") from None

    def _record_files(self) -> list[tuple[str, str]]:
        """The files that are read one after the other, with the kind of their records; none for another input."""
        if is_url(self.path):
            return self._url_files()
        path = Path(self.path)
        if self.lines or self.tag_columns or self.format not in {None, JSONL.name, PARQUET} or not path.exists():
            return []
        if path.is_dir():
            return self._folder_files(path)
        if self.format == PARQUET:
            return [(self.path, PARQUET)]
        if self.format is None and path.is_file():
            with path.open("rb") as stream:
                return [(self.path, PARQUET)] if is_parquet(stream.read(4)) else []
        return []

    def _folder_files(self, folder: Path) -> list[tuple[str, str]]:
        """JSON lines or Parquet files below a folder, by name, if no other format claims it."""
        claimed = any(format.matches(Probe.of(folder)) for format in formats.FORMATS.values())
        if self.format is None and (claimed or plain.is_plain(self.path)):
            return []
        found = sorted(p for p in folder.rglob("*") if p.suffix.lower() in _KINDS and p.is_file())
        shown = (p for p in found if not any(part[0] in "._" for part in p.relative_to(folder).parts))
        return self._of_one_kind([(str(p), _KINDS[p.suffix.lower()]) for p in shown])

    def _url_files(self) -> list[tuple[str, str]]:
        named = LINES if self.lines else self.format
        if self.tag_columns or named not in {None, LINES, JSONL.name, PARQUET, plain.TEXT}:
            raise FormatError("a URL can hold JSON lines, Parquet or plain text; download other files.", self.path)
        files = files_below(self.path, tuple(_KINDS))
        if not files:
            raise FormatError("this folder holds neither .jsonl nor .parquet files; give one that does.", self.path)
        if files == [self.path]:
            suffix = Path(self.path).suffix.lower()
            return [(self.path, named or _KINDS.get(suffix, plain.TEXT if suffix == ".txt" else JSONL.name))]
        return self._of_one_kind([(file, _KINDS[Path(file).suffix.lower()]) for file in files])

    def _of_one_kind(self, files: list[tuple[str, str]]) -> list[tuple[str, str]]:
        kept = [(file, kind) for file, kind in files if self.format in {None, kind}]
        if len({kind for _, kind in kept}) > 1:
            raise FormatError("this folder holds .jsonl and .parquet files; choose with --from.", self.path)
        return kept

    def _records(self, files: list[tuple[str, str]], report: Report) -> Iterator[Document]:
        for file, kind in files:
            if is_url(file):
                reader: Reader = UrlReader.of(file, self.skip_bad, report)
            else:
                reader = Reader(Path(file), None, self.skip_bad, report)
            for document in self._read(reader, kind):
                report.read += 1
                yield document
        if not report.read:
            raise FormatError("the input holds no documents; give one that does.", self.path)

    def _read(self, reader: Reader, kind: str) -> Iterator[Document]:
        if kind == PARQUET:
            return read_rows(reader, self.text_column)
        if kind == LINES:
            return plain.lines_of(reader)
        return plain.text_of(reader, Path(reader.name).name) if kind == plain.TEXT else JSONL.read(reader)


def _no_entities() -> InputError:
    return InputError("--given keeps the entities of the input, but plain text has none; give a file with entities.")
