"""ACE 2004 and 2005 as the LDC distributes them: a text in `.sgm`, and beside it its annotations in `.apf.xml`.

Offsets count the characters of the `.sgm` without its tags, and ends are inclusive. `ace` reads entity mentions with
their head regions and the relations between them; `ace-events` the anchors of event mentions, for event detection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.errors import AnnotationError, FormatError
from spanwise.formats.base import Format, Probe
from spanwise.formats.events import event_metadata
from spanwise.formats.fields import short_repr
from spanwise.formats.listing import Source, folder_of, holds, sources
from spanwise.formats.markup import Plain, flat, line_end_variants, plain, read_source
from spanwise.formats.reading import Reader
from spanwise.formats.report import Report
from spanwise.formats.xml_tree import Node, read_xml
from spanwise.plural import counted

_ENDING = ".apf.xml"
_TEXT = ".sgm"
_VERSIONS = ("timex2norm", "adj", "fp1", "fp2")  # folders of ACE 2005 with the same documents; the first is the newest
_NEVER_READ = ("value", "timex2", "quantity")
_ELEMENTS = frozenset({"entity", "relation", "event", *_NEVER_READ})
_ARGUMENTS = ("relation_mention_argument", "rel_mention_arg")  # of ACE 2005 and of ACE 2004
_BODY = ("BODY", "TEXT")


class _Region(NamedTuple):
    """A `charseq`: counted characters, half-open, and the text that they should hold."""

    start: int
    end: int
    text: str
    line: int


class _Mention(NamedTuple):
    id: str
    label: str
    extent: _Region
    head: _Region | None


class _Link(NamedTuple):
    """A relation mention, or an argument of an event: the ids of two mentions."""

    head: str
    tail: str
    label: str
    line: int


@dataclass
class _Annotations:
    """What is read of one `.apf.xml` file, and what is not, by kind."""

    mentions: list[_Mention] = field(default_factory=list)
    links: list[_Link] = field(default_factory=list)
    unread: Report = field(default_factory=Report)

    def leave_out(self, kind: str, count: int = 1) -> None:
        if count:
            self.unread.dropped[kind] += count


def _matches(probe: Probe) -> bool:
    return probe.path.name.lower().endswith((_ENDING, _TEXT)) or holds(probe.path, (_ENDING,))


def _document_node(path: Path) -> Node:
    root = read_xml(path)
    if root.tag != "source_file":
        raise FormatError(f"the root is <{root.tag}>, but ACE files have <source_file>; give another file.", path)
    node = root.child("document")
    if second := next((other for other in root.all("document") if other is not node), None):
        raise FormatError("the file has a second <document>; put each into its own file.", path, second.line)
    if unknown := [child for child in node.children if child.tag not in _ELEMENTS]:
        raise FormatError(f"<{unknown[0].tag}> is not an ACE annotation; remove it.", path, unknown[0].line)
    return node


def _region(node: Node) -> _Region:
    sequence = node.child("charseq")
    start, end = sequence.number("START"), sequence.number("END")
    if end < start:
        raise FormatError(f"the region from {start} to {end} ends before it starts; correct it.", line=sequence.line)
    return _Region(start, end + 1, sequence.text, sequence.line)


def _entities(document: Node) -> _Annotations:
    """Entity mentions with their heads, and relation mentions; events, values and times are counted."""
    found = _Annotations()
    for entity in document.all("entity"):
        for mention in entity.all("entity_mention"):
            head = next(mention.all("head"), None)
            region = _region(head) if head else None
            found.mentions.append(
                _Mention(mention.get("ID"), entity.get("TYPE"), _region(mention.child("extent")), region)
            )
    for relation in document.all("relation"):
        for mention in relation.all("relation_mention"):
            found.links.append(_relation(mention, relation.get("TYPE"), found))
    events = sum(1 for event in document.all("event") for _ in event.all("event_mention"))
    found.leave_out("ACE event mention (the format ace-events reads it)", events)
    _leave_out_others(document, found)
    return found


def _leave_out_others(document: Node, found: _Annotations) -> None:
    """Count what neither format reads."""
    for kind in _NEVER_READ:
        found.leave_out(f"ACE {kind}", sum(1 for _ in document.all(kind)))


def _relation(mention: Node, label: str, found: _Annotations) -> _Link:
    arguments: dict[str, str] = {}
    for argument in mention.all(*_ARGUMENTS):
        role = argument.get("ROLE", "ARGNUM").lower().removeprefix("arg-")
        if role not in {"1", "2"}:
            found.leave_out("ACE relation argument other than Arg-1 and Arg-2")
        elif role in arguments:
            raise FormatError(f"the relation mention has two arguments {role}; remove one.", line=argument.line)
        else:
            arguments[role] = argument.get("REFID", "ENTITYMENTIONID", "MENTIONID")
    if len(arguments) < 2:
        raise FormatError(
            "the relation mention lacks Arg-1 or Arg-2; add it, or remove the mention.", line=mention.line
        )
    return _Link(arguments["1"], arguments["2"], label, mention.line)


def _triggers(document: Node) -> _Annotations:
    """The anchors of event mentions, labeled by type and subtype; all else is counted."""
    found = _Annotations()
    for event in document.all("event"):
        label = f"{event.get('TYPE')}:{event.get('SUBTYPE')}"
        for mention in event.all("event_mention"):
            found.mentions.append(_Mention(mention.get("ID"), label, _region(mention.child("anchor")), None))
            arguments = sum(1 for _ in mention.all("event_mention_argument"))
            found.leave_out("ACE event argument", arguments)
    for kind in ("entity", "relation"):
        mentions = sum(1 for each in document.all(kind) for _ in each.all(f"{kind}_mention"))
        found.leave_out(f"ACE {kind} mention (the format ace reads it)", mentions)
    _leave_out_others(document, found)
    return found


def _fitting(source: str, annotations: _Annotations) -> Plain:
    """The text that the offsets count: `&amp;` may count as one character or as five, a line end as one or two."""
    regions = [region for mention in annotations.mentions for region in (mention.extent, mention.head) if region]
    first: list[_Region] = []  # that does not fit, in each way to count
    for variant in line_end_variants(source):
        for references in (False, True):
            text = plain(variant, count_tags=False, count_references=references)
            wrong = next((region for region in regions if not _fits(text, region)), None)
            if wrong is None:
                return text
            first.append(wrong)
    raise FormatError(
        f"the mention {short_repr(first[0].text)} is not at characters {first[0].start} to {first[0].end - 1} of the "
        f"text; the {_TEXT} file must be the one that was annotated.",
        line=first[0].line,
    )


def _fits(text: Plain, region: _Region) -> bool:
    place = _place(text, region)
    return place is not None and flat(text.text[place.start : place.end]) == flat(region.text)


def _place(text: Plain, region: _Region) -> Offsets | None:
    """Where a region stands in the text, without the spaces and line ends around it."""
    place = text.place(region.start, region.end)
    if place is None:
        return None
    covered = text.text[place.start : place.end]
    start, end = place.end - len(covered.lstrip()), place.start + len(covered.rstrip())
    return Offsets(start, end) if start < end else None


def _document(source: str, annotations: _Annotations, id: str) -> Document:
    text = _fitting(source, annotations)
    body = next(filter(None, map(text.element, _BODY)), Offsets(0, len(text.text)))
    entities: list[Entity] = []
    places: dict[str, int] = {}
    for mention in annotations.mentions:
        if mention.id in places:
            raise FormatError(
                f"the id {short_repr(mention.id)} is given twice; give each its own.", line=mention.extent.line
            )
        entity = _entity(mention, text, body, annotations)
        places[mention.id] = len(entities) if entity else -1
        entities.extend([entity] if entity else [])
    return Document(
        text.text[body.start : body.end], entities=tuple(entities), relations=tuple(_links(annotations, places)), id=id
    )


def _entity(mention: _Mention, text: Plain, body: Offsets, annotations: _Annotations) -> Entity | None:
    """The mention in the body of the text; one outside it, such as in the header, is counted."""
    place = _place(text, mention.extent)
    if place is None or not body.start <= place.start < place.end <= body.end:
        annotations.leave_out("ACE mention outside the body of the text")
        return None
    head = _place(text, mention.head) if mention.head else None
    if head and not place.start <= head.start < head.end <= place.end:
        annotations.leave_out("ACE head region outside its mention")
        head = None
    shifted = Offsets(head.start - body.start, head.end - body.start) if head else None
    return Entity(place.start - body.start, place.end - body.start, mention.label, head=shifted)


def _links(annotations: _Annotations, places: dict[str, int]) -> Iterator[Relation]:
    for link in annotations.links:
        if missing := [id for id in (link.head, link.tail) if id not in places]:
            raise FormatError(
                f"{short_repr(missing[0])} is not an entity mention of the file; correct it.", line=link.line
            )
        if min(places[link.head], places[link.tail]) < 0:
            annotations.leave_out("ACE relation of a mention outside the body of the text")
        else:
            yield Relation(places[link.head], places[link.tail], link.label)


def _parse(source: Source, reader: Reader, read: Callable[[Node], _Annotations], events: bool) -> Iterator[Document]:
    annotated = source.path
    if annotated.name.lower().endswith(_TEXT):
        annotated = _beside(annotated, _TEXT, _ENDING)
    try:
        text = read_source(_beside(annotated, _ENDING, _TEXT))
        annotations = read(_document_node(annotated))
        document = _document(text, annotations, source.base)
    except AnnotationError as error:
        raise FormatError(str(error), annotated) from None
    except FormatError as error:
        raise error if error.path else FormatError(error.reason, annotated, error.line) from None
    reader.report.dropped.update(annotations.unread.dropped)
    if events:
        types = event_metadata(entity.label for entity in document.entities)
        document = Document(document.text, entities=document.entities, id=document.id, metadata=types)
    yield document


def _beside(path: Path, ending: str, other: str) -> Path:
    """The file of the same name with another ending, which may be written in another case."""
    wanted = (path.name[: -len(ending)] + other).lower()
    found = next((file for file in path.parent.iterdir() if file.name.lower() == wanted), None)
    if found is None:
        raise FormatError(f"there is no {other} file of the same name beside it; add it.", path)
    return found


def _read(reader: Reader, read: Callable[[Node], _Annotations], events: bool) -> Iterator[Document]:
    single = reader.path is not None and reader.path.name.lower().endswith(_TEXT)
    found = sources(reader, (_TEXT,) if single else (_ENDING,), _VERSIONS, beside=(_TEXT,))
    if reader.path and reader.path.is_dir():
        _note_texts(folder_of(reader.path), found, reader)
    parse = partial(_parse, reader=reader, read=read, events=events)
    yield from reader.documents(((source.line, source) for source in found), parse)


def _note_texts(folder: Path, found: list[Source], reader: Reader) -> None:
    """A note about texts without annotations: they are not read, because a missing file does not mean no entities."""
    names = {source.base.lower() for source in found}
    texts = {path.name[: -len(_TEXT)].lower() for path in folder.rglob("*") if path.name.lower().endswith(_TEXT)}
    if bare := len(texts - names):
        files = counted(bare, f"{_TEXT} file without {_ENDING} file is", f"{_TEXT} files without {_ENDING} file are")
        reader.note(f"{files} not read")


ACE = Format(
    name="ace",
    matches=_matches,
    read=partial(_read, read=_entities, events=False),
    write=None,
    needs_words=False,
    example='<entity_mention ID="E1-1"><extent><charseq START="0" END="2">Ann</charseq></extent></entity_mention>',
    is_folder=True,
)
ACE_EVENTS = Format(
    name="ace-events",
    matches=lambda probe: False,  # a view of the same files, to be named
    read=partial(_read, read=_triggers, events=True),
    write=None,
    needs_words=False,
    example='<event_mention ID="V1-1"><anchor><charseq START="4" END="7">left</charseq></anchor></event_mention>',
    is_folder=True,
)
