"""DyGIE++'s JSON lines: a document of sentences, spans by inclusive token offsets that count through the document.

Each sentence is read as a document of its own; the writer puts the sentences of one `doc_key` together again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeGuard

from spanwise.document import Document, Relation
from spanwise.errors import FormatError
from spanwise.formats.base import Format, Probe
from spanwise.formats.events import EVENT_TYPES, UNTYPED, EventView, event_metadata, without_links_to_triggers
from spanwise.formats.fields import arrays, check_type, identifier, row, short_repr, strings
from spanwise.formats.reading import Reader
from spanwise.formats.tokens import WordSpan, align_to_words, count_spacing, without, word_spans
from spanwise.formats.writing import Writer, dumps
from spanwise.plural import counted

_KEYS = frozenset({"doc_key", "sentences", "ner", "relations", "events", "clusters"})
_METADATA = ("doc_key", "sentence", EVENT_TYPES)


def _matches(probe: Probe) -> bool:
    return probe.record is not None and "sentences" in probe.record


class _Sentence:
    """One sentence being put together from spans that count through the document."""

    def __init__(self, words: list[str], offset: int) -> None:
        self.words, self._offset = words, offset
        self.spans: list[WordSpan] = []
        self.relations: list[Relation] = []
        self.event_types: list[str] = []
        self._mentions: dict[tuple[int, int], int] = {}

    def add_mention(self, start: int, end: int, label: str) -> None:
        self._mentions.setdefault((start, end), len(self.spans))
        self._mark(start, end, label)

    def add_relation(self, head: tuple[int, int], tail: tuple[int, int], label: str) -> None:
        for side in (head, tail):
            if side not in self._mentions:
                raise FormatError(
                    f"the relation {short_repr(label)} joins tokens {short_repr(side)}, which are not an entity; "
                    f"correct the tokens."
                )
        self.relations.append(Relation(self._mentions[head], self._mentions[tail], label))

    def add_event(self, parts: list[Any]) -> None:
        """A trigger `[token, type]` and arguments `[start, end, role]`."""
        if not parts:
            raise FormatError("an event is empty; give it a trigger.")
        first = check_type(parts[0], list, "the trigger")
        bounds = first[:1] * 2 + first[1:] if len(first) == 2 else first
        start, end, label = row(bounds, (int, int, str), "the trigger")
        trigger = len(self.spans)
        self._mark(start, end, label)
        self.event_types.append(label)
        for part in parts[1:]:
            start, end, role = row(check_type(part, list, "the argument"), (int, int, str), "the argument")
            if (start, end) not in self._mentions:
                self.add_mention(start, end, UNTYPED)
            self.relations.append(Relation(trigger, self._mentions[start, end], role))

    def _mark(self, start: int, end: int, label: str) -> None:
        span = WordSpan(start - self._offset, end + 1 - self._offset, label)
        if not 0 <= span.first < span.last <= len(self.words):
            raise FormatError(
                f"{short_repr(label)} at tokens {short_repr(start)} to {short_repr(end)} lies outside its sentence, "
                f"which has tokens {self._offset} to {self._offset + len(self.words) - 1}; "
                f"offsets count through the document and ends are inclusive."
            )
        self.spans.append(span)


def _parse(record: dict[str, Any], reader: Reader) -> Iterator[Document]:
    reader.count_unknown_fields(record, _KEYS)
    key, sentences = identifier(record, "doc_key"), arrays(record, "sentences")
    if not sentences:
        raise FormatError(f"'sentences' is missing or empty in {short_repr(record)}; give an array of token arrays.")
    layers = {name: _layer(record, name, len(sentences)) for name in ("ner", "relations", "events")}
    offset = 0
    for index, tokens in enumerate(sentences):
        sentence = _Sentence(strings(tokens, f"'sentences'[{index}]"), offset)
        for mention in layers["ner"][index]:
            sentence.add_mention(*row(mention, (int, int, str), "the 'ner' mention"))
        for relation in layers["relations"][index]:
            a, b, c, d, label = row(relation, (int, int, int, int, str), "the relation")
            sentence.add_relation((a, b), (c, d), label)
        for event in layers["events"][index]:
            sentence.add_event(event)
        metadata = {"doc_key": key, "sentence": index, **event_metadata(sentence.event_types)}
        if index == 0 and record.get("clusters") is not None:
            metadata["clusters"] = _clusters(record)
        yield Document.from_words(
            sentence.words, sentence.spans, sentence.relations, id=f"{key}#{index}", metadata=metadata
        )
        offset += len(tokens)


def _layer(record: dict[str, Any], name: str, sentences: int) -> list[list[list[Any]]]:
    """The annotations of one kind, per sentence; empty when the record has none."""
    layer = arrays(record, name) if record.get(name) is not None else [[] for _ in range(sentences)]
    if len(layer) != sentences:
        raise FormatError(
            f"{name!r} is given for {counted(len(layer), 'sentence')}, but there are {sentences}; give one list each."
        )
    return [[check_type(item, list, f"an item of {name!r}") for item in items] for items in layer]


def _clusters(record: dict[str, Any]) -> list[list[list[int]]]:
    return [
        [row(check_type(span, list, "a cluster's span"), (int, int), "a cluster's span") for span in cluster]
        for cluster in arrays(record, "clusters")
    ]


def _read(reader: Reader) -> Iterator[Document]:
    return reader.json_line_documents(partial(_parse, reader=reader))


def _groups(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Neighbors that are sentences of one document."""
    group: list[Document] = []
    for document in documents:
        if group and not _follows(group[-1].metadata, document.metadata):
            yield group
            group = []
        group.append(document)
    if group:
        yield group


def _follows(one: Any, two: Any) -> bool:
    return (
        "doc_key" in two
        and one.get("doc_key") == two["doc_key"]
        and isinstance(one.get("sentence"), int)
        and two.get("sentence") == one["sentence"] + 1
    )


def _encode(group: list[Document], key: str, writer: Writer) -> str:
    record: dict[str, Any] = {"doc_key": key, "sentences": [], "ner": [], "relations": [], "events": []}
    offset = 0
    for document in group:
        kept = _supported(document, writer)
        count_spacing(document, " ", writer)
        own = ("clusters",) if document is group[0] and _are_clusters(document.metadata.get("clusters")) else ()
        writer.count_unsupported(kept, metadata=(*_METADATA, *own))
        record["sentences"].append(kept.word_texts)
        for layer, marks in _layers(kept, offset).items():
            record[layer].append(marks)
        offset += len(kept.words)
    if not any(record["events"]):
        del record["events"]
    clusters = group[0].metadata.get("clusters")
    if _are_clusters(clusters) and _within(clusters, offset):
        record["clusters"] = clusters
    elif _are_clusters(clusters):
        writer.drop_or_refuse(group[0], "coreference cluster of sentences that are not there", len(clusters))
    return dumps(record, group[0]) + "\n"


def _layers(document: Document, offset: int) -> dict[str, list[Any]]:
    """The annotations of one sentence, its tokens counted from the document's start."""
    view, spans = EventView.of(document), word_spans(document)
    places = [(offset + span.first, offset + span.last - 1) for span in spans]
    return {
        "ner": [[*places[i], spans[i].label] for i in view.mentions],
        "relations": [[*places[r.head], *places[r.tail], r.label] for r in view.relations],
        "events": [
            [[places[t][0], spans[t].label], *([*places[r.tail], r.label] for r in view.arguments.get(t, ()))]
            for t in view.triggers
        ],
    }


def _are_clusters(value: Any) -> TypeGuard[Sequence[Sequence[Sequence[int]]]]:
    """Whether a value is a list of lists of spans, each a first and a last token."""
    return isinstance(value, list | tuple) and all(
        isinstance(cluster, list | tuple) and all(_is_span(span) for span in cluster) for cluster in value
    )


def _is_span(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(type(token) is int for token in value)


def _within(clusters: Sequence[Sequence[Sequence[int]]], tokens: int) -> bool:
    return all(0 <= start <= end < tokens for cluster in clusters for start, end in cluster)


def _supported(document: Document, writer: Writer) -> Document:
    """What the format can say: triggers of one word, and relations between spans that belong to one mention."""
    kept = align_to_words(document, writer)
    wide = {t for t, span in enumerate(word_spans(kept)) if span.last - span.first > 1}
    wide &= set(EventView.of(kept).triggers)
    writer.drop_or_refuse(document, "event trigger of several words", len(wide))
    kept = without_links_to_triggers(without(kept, wide, writer), writer)
    view = EventView.of(kept)
    first: dict[tuple[int, int], int] = {}
    for index in view.mentions:
        first.setdefault((kept.entities[index].start, kept.entities[index].end), index)
    reachable = {*first.values(), *view.triggers}
    relations = [r for r in kept.relations if r.head in reachable and r.tail in reachable]
    writer.drop_or_refuse(document, "relation of an entity that shares its span", len(kept.relations) - len(relations))
    return kept.with_annotations(kept.entities, relations)


def _lines(documents: Iterable[Document], writer: Writer) -> Iterator[bytes]:
    for number, group in enumerate(_groups(documents)):
        first = group[0]
        key = str(first.metadata.get("doc_key", first.id)) or f"document-{number}"
        text = _encode(group, key, writer)
        writer.report.written += len(group)
        yield writer.encoded(text, first)


def _write(documents: Iterable[Document], writer: Writer) -> None:
    writer.file(_lines(documents, writer))


DYGIE = Format(
    name="dygie",
    matches=_matches,
    read=_read,
    write=_write,
    needs_words=True,
    example='{"doc_key": "d1", "sentences": [["Ann", "left"]], "ner": [[[0, 0, "PER"]]], "relations": [[]]}',
)
