"""brat standoff: a text in `.txt`, and beside it an `.ann` with entities, relations and events by character offset."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from spanwise.document import Document, Entity, Relation
from spanwise.errors import AnnotationError, FormatError
from spanwise.formats.base import Format, Probe
from spanwise.formats.events import EVENT_TYPES, EventView, event_metadata, event_types
from spanwise.formats.fields import short_repr, shorten
from spanwise.formats.reading import MAX_RECORD, Line, Reader
from spanwise.formats.writing import BOM, Writer, free_path, guard_bom
from spanwise.plural import counted

_ENTITY = re.compile(r"(\S+) ([0-9]{1,12}) ([0-9]{1,12})")
_DISCONTINUOUS = re.compile(r"\S+ [0-9]+ [0-9]+(;[0-9]+ [0-9]+)+")
_IGNORED = {"A": "attribute", "M": "attribute", "N": "normalization", "#": "note", "*": "equivalence"}


def _matches(probe: Probe) -> bool:
    return any(file.suffix.lower() == ".ann" for file in _files(probe.path))


def _files(path: Path) -> Iterator[Path]:
    """The texts and annotations of a folder and its subfolders, or of one pair."""
    found = path.rglob("*") if path.is_dir() else _same_stem(path)
    return (file for file in found if file.suffix.lower() in {".txt", ".ann"} and file.is_file())


def _same_stem(path: Path) -> Iterator[Path]:
    if path.suffix.lower() in {".txt", ".ann"}:
        yield from (file for file in path.parent.iterdir() if file.stem == path.stem)


@dataclass(frozen=True)
class _FilePair:
    """A text and its annotations; either may be missing, and their suffixes may be in upper case."""

    stem: Path
    files: tuple[Path, ...]

    @property
    def text(self) -> Path | None:
        return self._with_suffix(".txt")

    @property
    def annotations(self) -> Path | None:
        return self._with_suffix(".ann")

    def id(self, root: Path) -> str:
        return unquote(self.stem.relative_to(root if root.is_dir() else root.parent).as_posix())

    def _with_suffix(self, suffix: str) -> Path | None:
        found = [file for file in self.files if file.suffix.lower() == suffix]
        if len(found) > 1:
            names = " and ".join(sorted(file.name for file in found))
            raise FormatError(f"{names} differ only in their case; keep one of them.", self.stem)
        return found[0] if found else None


def _file_pairs(path: Path) -> list[_FilePair]:
    found: defaultdict[Path, list[Path]] = defaultdict(list)
    for file in _files(path):
        found[file.parent / file.stem].append(file)
    return [
        _FilePair(stem, tuple(found[stem]))
        for stem in sorted(found, key=lambda stem: (stem.parent, f"{stem.name}.txt"))
    ]


class _Event(NamedTuple):
    line: int
    label: str
    trigger: str


@dataclass
class _Standoff:
    """The annotations of one `.ann` file, by their ids."""

    entities: dict[str, Entity] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    links: list[tuple[int, str, str, str]] = field(default_factory=list)  # line, head, tail, label
    events: dict[str, _Event] = field(default_factory=dict)
    ignored: Counter[str] = field(default_factory=Counter)

    def add(self, line: Line) -> None:
        id, _, rest = line.decode().partition("\t")
        kind = id[:1]
        if kind in _IGNORED:
            self.ignored[f"brat {_IGNORED[kind]}"] += 1
        elif kind not in {"T", "R", "E"}:
            raise FormatError(f"the annotation {short_repr(id)} is not a brat annotation; correct or remove the line.")
        elif id in self.entities or id in self.events:
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
        self.events[id] = _Event(line, *parts[0])
        self.links.extend((line, id, argument, role) for role, argument in parts[1:])

    def document(self, text: str, id: str) -> Document:
        entities = list(self.entities.values())
        places = {name: index for index, name in enumerate(self.entities)}
        places |= self._place_events(places, entities)
        for line, head, tail, label in self.links:
            if missing := {head, tail} - places.keys():
                raise FormatError(
                    f"{short_repr(label)} joins {short_repr(sorted(missing))}, which does not exist; "
                    f"correct or remove it.",
                    line=line,
                )
        return Document(
            text,
            entities=tuple(entities),
            relations=tuple(Relation(places[head], places[tail], label) for _, head, tail, label in self.links),
            id=id,
            metadata=event_metadata(event.label for event in self.events.values()),
        )

    def _place_events(self, places: dict[str, int], entities: list[Entity]) -> dict[str, int]:
        """Where the trigger of each event stands; each further event on one trigger gets a copy of it."""
        found: dict[str, int] = {}
        taken: set[str] = set()
        for name, event in self.events.items():
            trigger = self._trigger(name, event)
            if event.trigger in taken:
                entities.append(trigger)
            found[name] = len(entities) - 1 if event.trigger in taken else places[event.trigger]
            taken.add(event.trigger)
        return found

    def _trigger(self, name: str, event: _Event) -> Entity:
        trigger = self.entities.get(event.trigger)
        if trigger is None:
            reason = f"the trigger {short_repr(event.trigger)} of {shorten(name)} does not exist; correct it."
            raise FormatError(reason, line=event.line)
        if trigger.label != event.label:
            raise FormatError(
                f"{shorten(name)} is of type {short_repr(event.label)}, but its trigger {shorten(event.trigger)} is of "
                f"type {short_repr(trigger.label)}; give both one type.",
                line=event.line,
            )
        return trigger

    @property
    def shared_triggers(self) -> int:
        """How many events have a trigger that an earlier event has too."""
        return len(self.events) - len({event.trigger for event in self.events.values()})


def _pair(argument: str) -> tuple[str, str]:
    role, colon, id = argument.rpartition(":")
    if not colon or not role or not id:
        raise FormatError(
            f"the argument {short_repr(argument)} should be a role and an id with a colon between; correct it."
        )
    return role, id


def _standoff(reader: Reader) -> _Standoff:
    standoff = _Standoff()
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


def _parse(pair: _FilePair, root: Path, reader: Reader, counts: Counter[str]) -> Iterator[Document]:
    text, annotations = pair.text, pair.annotations
    beside = replace(reader, path=annotations or text)
    try:
        if text is None:
            raise FormatError(f"{pair.stem.name}.txt is missing beside it; add the annotated text.")
        standoff = _standoff(beside) if annotations else _Standoff()
        yield standoff.document(_fitting(_decoded(text), standoff), pair.id(root))
    except (FormatError, AnnotationError) as error:
        raise beside.with_location(error, None) from None
    reader.report.dropped.update(standoff.ignored)
    counts["bare"] += annotations is None
    counts["shared"] += standoff.shared_triggers


def _read(reader: Reader) -> Iterator[Document]:
    if reader.path is None:
        raise FormatError("brat files cannot come from standard input; name the folder.")
    counts: Counter[str] = Counter()
    parse = partial(_parse, root=reader.path, reader=reader, counts=counts)
    yield from reader.documents(((None, pair) for pair in _file_pairs(reader.path)), parse)
    if bare := counts["bare"]:
        reader.note(f"{counted(bare, 'text has', 'texts have')} no .ann file and no annotations")
    if shared := counts["shared"]:
        events = counted(shared, "event shares its", "events share their")
        reader.note(f"{events} trigger with another event; each event keeps its own copy of the trigger")


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
            path = free_path(folder, document, number, ".txt")
            path.write_bytes(writer.encoded(guard_bom(plain.text), document))
            lines = "".join(f"{line}\n" for line in _annotations(plain))
            path.with_name(f"{path.stem}.ann").write_bytes(writer.encoded(lines, document))
            writer.report.written += 1


BRAT = Format(
    name="brat",
    matches=_matches,
    read=_read,
    write=_write,
    needs_words=False,
    example="T1\tPER 0 3\tAnn",
    is_folder=True,
)
