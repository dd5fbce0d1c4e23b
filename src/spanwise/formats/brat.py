"""brat standoff: a text in `.txt`, and beside it an `.ann` with entities, relations and events by character offset."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from urllib.parse import unquote

from spanwise.document import Document, Entity, Relation
from spanwise.errors import AnnotationError, FormatError
from spanwise.formats.base import Format, Probe
from spanwise.formats.events import EVENT_TYPES, EventView, event_metadata, event_types
from spanwise.formats.fields import short_repr, shorten
from spanwise.formats.reading import MAX_RECORD, Line, Reader
from spanwise.formats.writing import BOM, Writer, guard_bom

_ENTITY = re.compile(r"(\S+) ([0-9]{1,12}) ([0-9]{1,12})")
_DISCONTINUOUS = re.compile(r"\S+ [0-9]+ [0-9]+(;[0-9]+ [0-9]+)+")
_UNSAFE = re.compile(r'[/\\%<>:"|?*\x00-\x1f]|^\.')
_IGNORED = {"A": "attribute", "M": "attribute", "N": "normalization", "#": "note", "*": "equivalence"}


def _matches(probe: Probe) -> bool:
    if probe.path.is_dir():
        return any(probe.path.glob("*.ann"))
    return probe.path.suffix == ".ann" or (probe.path.suffix == ".txt" and _beside(probe.path, ".ann").exists())


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name.removesuffix(path.suffix) + suffix)


@dataclass
class _Standoff:
    """The annotations of one `.ann` file, by their ids."""

    entities: dict[str, Entity] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    links: list[tuple[int, str, str, str]] = field(default_factory=list)  # line, head, tail, label
    triggers: dict[str, str] = field(default_factory=dict)
    ignored: Counter[str] = field(default_factory=Counter)

    def add(self, line: Line) -> None:
        id, _, rest = line.decode().partition("\t")
        kind = id[:1]
        if kind in _IGNORED:
            self.ignored[f"brat {_IGNORED[kind]}"] += 1
        elif kind not in {"T", "R", "E"}:
            raise FormatError(f"the annotation {short_repr(id)} is not a brat annotation; correct or remove the line.")
        elif id in self.entities or id in self.triggers:
            raise FormatError(f"the id {short_repr(id)} is given twice; give each annotation an id of its own.")
        else:
            {"T": self._add_entity, "R": self._add_relation, "E": self._add_event}[kind](id, rest, line.number)

    def _add_entity(self, id: str, rest: str, line: int) -> None:
        place, _, text = rest.partition("\t")
        if _DISCONTINUOUS.fullmatch(place):
            raise FormatError(
                f"{shorten(id)} is discontinuous ({short_repr(place)}), which a document cannot hold; "
                f"join or remove its parts."
            )
        if not (match := _ENTITY.fullmatch(place.strip(" "))):
            raise FormatError(
                f"{shorten(id)} is {short_repr(place)}, but should be a type, a start and an end; correct the line."
            )
        self.entities[id] = Entity(int(match[2]), int(match[3]), match[1])
        self.texts[id] = text

    def _add_relation(self, id: str, rest: str, line: int) -> None:
        label, *arguments = rest.split("\t")[0].split() or [""]
        pairs = sorted((_pair(argument) for argument in arguments), key=lambda pair: pair[0] == "Arg2")
        if len(pairs) != 2:
            raise FormatError(
                f"{shorten(id)} should be a type and two arguments (Arg1:T1 Arg2:T2), but is {short_repr(rest)}; "
                f"correct it."
            )
        self.links.append((line, pairs[0][1], pairs[1][1], label))

    def _add_event(self, id: str, rest: str, line: int) -> None:
        parts = [_pair(part) for part in rest.split("\t")[0].split()]
        if not parts:
            raise FormatError(f"{shorten(id)} has no trigger; write it as Type:T1, then its arguments.")
        self.triggers[id] = parts[0][1]
        self.links.extend((line, id, argument, role) for role, argument in parts[1:])

    def document(self, text: str, id: str) -> Document:
        places = {name: index for index, name in enumerate(self.entities)}
        unknown = {name: trigger for name, trigger in self.triggers.items() if trigger not in places}
        if unknown:
            raise FormatError(f"the events {short_repr(unknown)} name triggers that do not exist; correct them.")
        places |= {name: places[trigger] for name, trigger in self.triggers.items()}
        for line, head, tail, label in self.links:
            if missing := {head, tail} - places.keys():
                raise FormatError(
                    f"{short_repr(label)} joins {short_repr(sorted(missing))}, which does not exist; "
                    f"correct or remove it.",
                    line=line,
                )
        return Document(
            text,
            entities=tuple(self.entities.values()),
            relations=tuple(Relation(places[head], places[tail], label) for _, head, tail, label in self.links),
            id=id,
            metadata=event_metadata(self.entities[trigger].label for trigger in self.triggers.values()),
        )


def _pair(argument: str) -> tuple[str, str]:
    role, colon, id = argument.rpartition(":")
    if not colon or not role or not id:
        raise FormatError(
            f"the argument {short_repr(argument)} should be a role and an id with a colon between; correct it."
        )
    return role, id


def _standoff(reader: Reader) -> _Standoff:
    standoff = _Standoff()
    if reader.path is None or not reader.path.exists():
        return standoff
    for line in reader.lines():
        if line.raw.strip():
            try:
                standoff.add(line)
            except FormatError as error:
                raise reader.with_location(error, line.number) from None
    return standoff


def _decoded(path: Path) -> str:
    """The whole text, unchanged: offsets count every character of it."""
    if path.stat().st_size > MAX_RECORD:
        raise FormatError(f"the text is longer than {MAX_RECORD // 2**20} MB; split it into documents.", path)
    try:
        return "\n".join(Line(number, raw).decode() for number, raw in enumerate(path.read_bytes().split(b"\n"), 1))
    except FormatError as error:
        raise FormatError(error.reason, path, error.line) from None


def _fitting(text: str, standoff: _Standoff) -> str:
    """The text that the offsets count: with or without its byte order mark and its carriage returns."""
    bare = text.removeprefix(BOM)
    for candidate in (bare, bare.replace("\r\n", "\n"), text):
        if not (wrong := _mismatch(candidate, standoff)):
            return candidate
    raise FormatError(
        f"{shorten(wrong)} says {short_repr(standoff.texts[wrong])}, but the text at its offsets differs; "
        f"the text must not change after annotation."
    )


def _mismatch(text: str, standoff: _Standoff) -> str:
    """The id of the first entity whose text is not what its offsets hold."""
    for id, entity in standoff.entities.items():
        if standoff.texts[id] and _flat(text[entity.start : entity.end]) != _flat(standoff.texts[id]):
            return id
    return ""


def _flat(text: str) -> str:
    return re.sub(r"\s", " ", text).strip()


def _parse(text: Path, reader: Reader) -> Iterator[Document]:
    beside = replace(reader, path=_beside(text, ".ann"))
    try:
        if not text.exists():
            raise FormatError(f"{text.name} is missing beside it; add the annotated text.")
        standoff = _standoff(beside)
        yield standoff.document(_fitting(_decoded(text), standoff), unquote(text.name.removesuffix(".txt")))
    except (FormatError, AnnotationError) as error:
        raise beside.with_location(error, None) from None
    reader.report.dropped.update(standoff.ignored)


def _read(reader: Reader) -> Iterator[Document]:
    path = reader.path
    if path is None:
        raise FormatError("brat files cannot come from standard input; name the folder.")
    found = path.iterdir() if path.is_dir() else [path]
    texts = sorted({_beside(file, ".txt") for file in found if file.suffix in {".txt", ".ann"}})

    yield from reader.documents(((None, text) for text in texts), partial(_parse, reader=reader))
    if bare := sum(not _beside(text, ".ann").exists() for text in texts):
        reader.note(f"{bare} texts have no .ann file; they are read without annotations")


def _annotations(document: Document) -> Iterator[str]:
    for number, entity in enumerate(document.entities, 1):
        covered = re.sub("[\n\r\t]", " ", document.text_of(entity))
        yield f"T{number}\t{entity.label} {entity.start} {entity.end}\t{covered}"
    view = EventView.of(document)
    for number, relation in enumerate(view.relations, 1):
        yield f"R{number}\t{relation.label} Arg1:T{relation.head + 1} Arg2:T{relation.tail + 1}"
    for number, trigger in enumerate(view.triggers, 1):
        arguments = "".join(f" {r.label}:T{r.tail + 1}" for r in view.arguments.get(trigger, ()))
        yield f"E{number}\t{document.entities[trigger].label}:T{trigger + 1}{arguments}"


def _with_plain_labels(document: Document, writer: Writer) -> Document:
    """brat's types hold no space: with `lossy` an underscore takes its place."""
    labels = [entity.label for entity in document.entities] + [relation.label for relation in document.relations]
    spaced = sum(_plain(label) != label for label in labels)
    writer.drop_or_refuse(document, "space in a label", spaced)
    if not spaced:
        return document
    return replace(
        document,
        entities=tuple(replace(entity, label=_plain(entity.label)) for entity in document.entities),
        relations=tuple(replace(relation, label=_plain(relation.label)) for relation in document.relations),
        metadata={**document.metadata, **event_metadata(map(_plain, event_types(document)))},
    )


def _plain(label: str) -> str:
    return re.sub(r"\s", "_", label)


def _write(documents: Iterable[Document], writer: Writer) -> None:
    with writer.folder() as folder:
        for number, document in enumerate(documents, 1):
            plain = _with_plain_labels(document, writer)
            writer.count_unsupported(plain, metadata=(EVENT_TYPES,))
            writer.count_dropped("words", bool(document.words))
            path = _free_path(folder, document, number)
            path.write_bytes(writer.encoded(guard_bom(plain.text), document))
            lines = "".join(f"{line}\n" for line in _annotations(plain))
            _beside(path, ".ann").write_bytes(writer.encoded(lines, document))
            writer.report.written += 1


def _free_path(folder: Path, document: Document, number: int) -> Path:
    """A file named for the document's id, or for its number if it has none, and numbered if another has that name."""
    name = _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", document.id)
    stem = name if 0 < len(name.encode()) <= 200 else f"document-{number:06}"
    stems = chain([stem], (f"{stem}-{further}" for further in count(number)))
    return next(path for path in (folder / f"{stem}.txt" for stem in stems) if not path.exists())


BRAT = Format(
    name="brat",
    matches=_matches,
    read=_read,
    write=_write,
    needs_words=False,
    is_folder=True,
)
