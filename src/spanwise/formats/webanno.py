"""WebAnno TSV 3, as INCEpTION and WebAnno export it: a file per document, a line per token, columns for each layer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from spanwise.document import Document
from spanwise.errors import AnnotationError, FormatError
from spanwise.formats.annotators import Version, choose
from spanwise.formats.base import Format, Probe
from spanwise.formats.events import UNTYPED
from spanwise.formats.fields import short_repr
from spanwise.formats.reading import MAX_RECORD, Line, Reader
from spanwise.formats.report import Report
from spanwise.formats.standoff import Link, Mark, Standoff, utf16_positions
from spanwise.formats.webanno_escapes import parse_value, split_values, unescape
from spanwise.formats.webanno_writing import HEADER, write_folder

_EMPTY, _NO_VALUE = "_", "*"
_LABELS = ("value", "label", "type", "entity", "category", "class")  # features that hold a layer's label
_LINGUISTIC = tuple(
    f"de.tudarmstadt.ukp.dkpro.core.api.{kind}." for kind in ("segmentation", "lexmorph", "syntax", "transform")
)  # layers of tokens, parts of speech and dependencies
_ID_COLUMNS = 3  # the token's number, its offsets and its text
_SOURCE = re.compile(r"([0-9]+-[0-9]+(?:\.[0-9]+)?)(?:\[([0-9]+)_([0-9]+)\])?")
_UNIT = re.compile(r"[0-9]+-[0-9]+(\.[0-9]+)?")
_OFFSETS = re.compile(r"([0-9]{1,12})-([0-9]{1,12})")
_UNANNOTATED = "INITIAL_CAS"  # the document before anybody annotated it
_BY_ANNOTATOR = ("annotation", "curation")  # folders of an exported project, with a folder per document


class _Layer(NamedTuple):
    """A layer and its columns. `kind` is SP for spans, RL for relations between those of `base`, CH for chains."""

    kind: str
    name: str
    features: tuple[str, ...]
    base: str
    first: int
    width: int

    @classmethod
    def parse(cls, line: str, first: int) -> _Layer:
        kind, _, rest = line.removeprefix("#T_").partition("=")
        name, *columns = rest.split("|")
        base = next((column[3:] for column in columns if column.startswith("BT_")), "")
        features = tuple(column for column in columns if column and not column.startswith("BT_"))
        return cls(kind, name, features, base, first, max(1, len(features) + bool(base)))

    @property
    def label_column(self) -> int:
        """The column of the feature that is named like a label, else of the first feature."""
        names = [feature.lower() for feature in self.features]
        return self.first + next((names.index(name) for name in _LABELS if name in names), 0)

    @property
    def is_linguistic(self) -> bool:
        return self.name.startswith(_LINGUISTIC) or self.base.startswith(_LINGUISTIC)


class _Unit(NamedTuple):
    """A token, or a part of one, with its offsets as the file counts them."""

    line: int
    id: str
    start: int
    end: int
    text: str
    cells: tuple[str, ...]

    @property
    def is_token(self) -> bool:
        return "." not in self.id


@dataclass
class _Sentence:
    line: int
    lines: list[str]
    units: list[_Unit] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def _matches(probe: Probe) -> bool:
    if probe.path.is_dir():
        return any(_is_webanno(path) for path in probe.path.rglob("*.tsv"))
    return any(line.startswith(HEADER) for line in probe.lines[:3])


def _is_webanno(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(len(HEADER) + 3).decode("utf-8-sig", errors="replace").startswith(HEADER)


def _read(reader: Reader) -> Iterator[Document]:
    if reader.path is None:
        raise FormatError("WebAnno files cannot come from standard input; name the file or the folder.")
    parse = partial(_parse, reader=reader)
    yield from reader.documents(((None, found) for found in _documents(reader.path)), parse)


def _documents(path: Path) -> Iterator[tuple[str, list[tuple[str, Path]]]]:
    """The id of each document, and its files by annotator."""
    if not path.is_dir():
        yield path.stem, [("", path)]
        return
    root = path / _BY_ANNOTATOR[0] if (path / _BY_ANNOTATOR[0]).is_dir() else path
    files = sorted(file for file in root.rglob("*.tsv") if _is_webanno(file) and file.stem != _UNANNOTATED)
    if root.name not in _BY_ANNOTATOR:
        yield from ((unquote(file.relative_to(root).with_suffix("").as_posix()), [("", file)]) for file in files)
        return
    for folder, own in groupby(files, lambda file: file.parent):
        yield folder.relative_to(root).as_posix(), [(file.stem, file) for file in own]


def _parse(found: tuple[str, list[tuple[str, Path]]], reader: Reader) -> Iterator[Document]:
    id, files = found
    versions = []
    for annotator, path in files:
        beside = replace(reader, path=path)
        try:
            versions.append(Version(annotator, _File.read(beside).document(id, reader.report)))
        except (FormatError, AnnotationError) as error:
            raise beside.with_location(error, None) from None
    yield from choose(versions, reader)


@dataclass
class _File:
    """The layers and sentences of one file."""

    layers: list[_Layer] = field(default_factory=list)
    sentences: list[_Sentence] = field(default_factory=list)

    @classmethod
    def read(cls, reader: Reader) -> _File:
        if reader.path is not None and reader.path.stat().st_size > MAX_RECORD:
            raise FormatError(f"the file is longer than {MAX_RECORD // 2**20} MB; split the document.")
        file, in_text = cls(), False
        for line in reader.lines():
            text = line.decode()
            if text.startswith("#T_") and file.sentences:
                raise FormatError("a layer is named after the first sentence; move it to the top.", line=line.number)
            if text.startswith("#T_"):
                file.layers.append(_Layer.parse(text, file.columns))
            elif text.startswith("#Text="):
                if not in_text:
                    file.sentences.append(_Sentence(line.number, []))
                file.sentences[-1].lines.append(unescape(text.removeprefix("#Text=")))
            elif text and not text.startswith("#"):
                file._add_unit(line, text)
            in_text = text.startswith("#Text=")
        return file

    @property
    def columns(self) -> int:
        return _ID_COLUMNS + sum(layer.width for layer in self.layers)

    def _add_unit(self, line: Line, text: str) -> None:
        cells = text.removesuffix("\t").split("\t")  # each cell may end in a tab
        offsets = _OFFSETS.fullmatch(cells[1]) if len(cells) >= _ID_COLUMNS else None
        if offsets is None or not _UNIT.fullmatch(cells[0]) or not self.sentences:
            raise FormatError(
                f"{short_repr(text)} is not a token (a number, offsets and a text with tabs between) after a #Text "
                f"line; "
                f"correct the line.",
                line=line.number,
            )
        if len(cells) != self.columns:
            raise FormatError(
                f"the line has {len(cells)} cells, but the layers of the file need {self.columns}; correct it.",
                line=line.number,
            )
        start, end = int(offsets[1]), int(offsets[2])
        self.sentences[-1].units.append(_Unit(line.number, cells[0], start, end, unescape(cells[2]), tuple(cells)))

    def document(self, id: str, report: Report) -> Document:
        text, units = self._placed()
        annotations = _Annotations(report)
        for layer in self.layers:
            if layer.kind != "SP" or layer.is_linguistic:
                continue
            for unit in units:
                annotations.add_spans(layer, unit)
        for layer in self.layers:
            for unit in units:
                if layer.kind == "RL" and not layer.is_linguistic:
                    annotations.add_relations(layer, unit)
                elif layer.kind != "SP" or layer.is_linguistic:
                    annotations.count_unread(layer, unit)
        words = [Mark(unit.start, unit.end, "") for unit in units if unit.is_token]
        return Standoff(text, annotations.marks(), annotations.links, words).document(report, id)

    def _placed(self) -> tuple[str, list[_Unit]]:
        """The text, and the units with offsets in characters. INCEpTION counts UTF-16 units, others characters."""
        units = [unit for sentence in self.sentences for unit in sentence.units]
        problem: _Unit | None = None
        for utf16 in (True, False):
            text = self._text(utf16)
            position = utf16_positions(text) if utf16 else int
            placed = [unit._replace(start=position(unit.start), end=position(unit.end)) for unit in units]
            wrong = next((u for u in placed if not u.start < u.end or text[u.start : u.end] != u.text), None)
            if wrong is None:
                return text, placed
            problem = problem or next(unit for unit in units if unit.line == wrong.line)
        raise FormatError(
            f"the token {short_repr(problem.text if problem else '')} does not stand at its offsets in the text of its "
            f"sentence; export the document again.",
            line=problem.line if problem else None,
        )

    def _text(self, utf16: bool) -> str:
        """The sentences at their offsets; line ends and spaces stand for what is between them."""
        pieces: list[str] = []
        cursor = 0
        for sentence in self.sentences:
            if not sentence.units:
                continue
            before = len(sentence.text) - len(sentence.text.lstrip())
            gap = max(0, sentence.units[0].start - before - cursor)
            pieces += [("\n" if pieces else " ") * min(gap, 1), " " * (gap - 1), sentence.text]
            cursor += gap + (_utf16_length(sentence.text) if utf16 else len(sentence.text))
        return "".join(pieces)


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class _Annotations:
    """Spans by layer and id, and the relations between them. A span without an id is alone at its unit."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._spans: dict[tuple[str, str], Mark] = {}
        self.links: list[Link] = []

    def marks(self) -> list[Mark]:
        return list(self._spans.values())

    def add_spans(self, layer: _Layer, unit: _Unit) -> None:
        """The spans of a layer that cover a unit; one with an id goes on over its units."""
        for column in range(layer.first, layer.first + layer.width):
            if column != layer.label_column and (values := _values(unit, column)):
                named = sum(value != _NO_VALUE for value, _ in values)
                self._report.drop(f"feature {layer.features[column - layer.first]!r}", named)
        for value, id in _values(unit, layer.label_column):
            label = unescape(value) if value != _NO_VALUE else layer.name.rpartition(".")[2]
            key = (layer.name, id or unit.id)
            begun = self._spans.get(key)
            start, end = (unit.start, unit.end) if begun is None else (begun.start, max(begun.end, unit.end))
            self._spans[key] = Mark(start, end, label, id=key)

    def add_relations(self, layer: _Layer, unit: _Unit) -> None:
        """The relations that end in a unit; their last column says where they begin."""
        labels = _values(unit, layer.label_column) if layer.features else []
        for index, (source, _) in enumerate(_values(unit, layer.first + layer.width - 1, with_ids=False)):
            if not (found := _SOURCE.fullmatch(source)):
                raise FormatError(f"{short_repr(source)} is not the source of a relation; correct it.", line=unit.line)
            head = (layer.base, found[1] if found[2] in {None, "0"} else found[2])
            tail = (layer.base, unit.id if found[3] in {None, "0"} else found[3])
            if missing := [end for end in (head, tail) if end not in self._spans]:
                raise FormatError(
                    f"a relation joins {short_repr(missing[0][1])}, which is no span of the layer "
                    f"{short_repr(layer.base)}; correct or remove it.",
                    line=unit.line,
                )
            value = labels[index][0] if index < len(labels) else _NO_VALUE
            self.links.append(Link(head, tail, UNTYPED if value == _NO_VALUE else unescape(value)))

    def count_unread(self, layer: _Layer, unit: _Unit) -> None:
        self._report.drop(f"annotation of the layer {layer.name!r}", len(_values(unit, layer.first)))


def _values(unit: _Unit, column: int, *, with_ids: bool = True) -> list[tuple[str, str]]:
    """The stacked values of a cell, still escaped, each with its id or an empty text."""
    cell = unit.cells[column]
    if cell == _EMPTY:
        return []
    return [parse_value(value) if with_ids else (value, "") for value in split_values(cell)]


WEBANNO = Format(
    name="webanno",
    matches=_matches,
    read=_read,
    write=write_folder,
    needs_words=True,
    example="#FORMAT=WebAnno TSV 3.3\n#T_SP=webanno.custom.Entity|label\n\n#Text=Ann left.\n1-1\t0-3\tAnn\tPER",
    holds_annotators=True,
    is_folder=True,
    whole_texts=True,
)
