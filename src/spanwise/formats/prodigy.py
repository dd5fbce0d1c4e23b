"""Prodigy: JSON lines of texts with `spans`, `relations` and the annotator's `answer`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from spanwise.document import Document, Entity, Relation
from spanwise.errors import FormatError
from spanwise.formats.annotators import Repeats, Version
from spanwise.formats.base import Format, Probe
from spanwise.formats.events import UNTYPED
from spanwise.formats.fields import get, identifier, objects, score, short_repr
from spanwise.formats.reading import Reader
from spanwise.formats.standoff import Link, Mark, Standoff
from spanwise.formats.writing import Writer, dumps

_ANSWERS = ("accept", "reject", "ignore")
_OWN = frozenset({"text", "spans", "tokens", "relations", "answer", "meta", "id"})


def _matches(probe: Probe) -> bool:
    record = probe.record
    if record is None or not isinstance(record.get("text"), str):
        return False
    spans = record.get("spans")
    objects = isinstance(spans, list) and all(isinstance(span, dict) for span in spans)
    return not record.keys().isdisjoint({"_input_hash", "_task_hash"}) or objects


def _read(reader: Reader) -> Iterator[Document]:
    repeats = Repeats(reader)
    parse = partial(_parse, reader=reader, repeats=repeats)
    as_lines = reader.opening() == b"{"
    yield from reader.json_line_documents(parse) if as_lines else reader.json_array_documents(parse)
    yield from repeats.majorities()


def _parse(record: dict[str, Any], reader: Reader, repeats: Repeats) -> Iterator[Document]:
    answer = get(record, "answer", str, "accept")
    if answer not in _ANSWERS:
        raise FormatError(f"the answer {short_repr(answer)} is unknown; it is one of {', '.join(_ANSWERS)}.")
    if answer != "accept":
        reader.report.drop(f"record with the answer {answer!r}")
        return
    yield from repeats.add(Version(_annotator(record), _document(record, reader)))


def _annotator(record: dict[str, Any]) -> str:
    """The annotator, or the session of one in older versions of Prodigy."""
    return identifier(record, "_annotator_id") or identifier(record, "_session_id")


def _document(record: dict[str, Any], reader: Reader) -> Document:
    reader.count_unknown_fields(record, _OWN.union(key for key in record if key.startswith("_")))
    text, tokens = get(record, "text", str), [_token(token) for token in objects(record, "tokens")]
    marks = [mark for number, span in enumerate(objects(record, "spans")) for mark in _span_marks(span, number, reader)]
    if "answer" in record:  # a person has confirmed them
        marks = [mark._replace(score=1.0) for mark in marks]
    links: list[Link] = []
    for relation in objects(record, "relations"):
        head, tail = (_relation_end(relation, side, marks, tokens) for side in ("head", "child"))
        links.append(Link(head.id, tail.id, get(relation, "label", str)))
        marks += [end for end in dict.fromkeys((head, tail)) if end not in marks]
    standoff = Standoff(text, marks, links, tokens)
    return standoff.document(reader.report, identifier(record, "id"), get(record, "meta", dict, {}))


def _token(token: dict[str, Any]) -> Mark:
    return Mark(get(token, "start", int), get(token, "end", int), "", get(token, "text", str))


def _span_marks(span: dict[str, Any], number: int, reader: Reader) -> Iterator[Mark]:
    """The mark of a span; one without a label, as token patterns leave it, is counted."""
    if not span.get("label"):
        reader.report.drop("span without a label")
        return
    bounds = get(span, "start", int), get(span, "end", int)
    surface = get(span, "text", str) if span.get("text") else None
    yield Mark(*bounds, get(span, "label", str), surface, number, score(span))


def _relation_end(relation: dict[str, Any], side: str, marks: Sequence[Mark], tokens: Sequence[Mark]) -> Mark:
    """The span that a relation names by its offsets, or by the number of its last token; untyped if it is no entity."""
    span = get(relation, f"{side}_span", dict, {})
    if span:
        start, end, label = get(span, "start", int), get(span, "end", int), identifier(span, "label")
        found = [mark for mark in marks if mark[:2] == (start, end) and label in {"", mark.label}]
    else:
        number = get(relation, side, int)
        if not 0 <= number < len(tokens):
            raise FormatError(f"the {side} of a relation is token {number}, but there are {len(tokens)}; correct it.")
        (start, end), label = tokens[number][:2], ""
        found = [mark for mark in marks if mark.end == end]
    return found[0] if found else Mark(start, end, label or UNTYPED, id=(start, end, label))


def _encode(document: Document, writer: Writer) -> str:
    predicted = writer.model_version is not None
    scored = [r.score for r in document.relations] + [e.score for e in document.entities if not predicted]
    writer.count_dropped("score", sum(score != 1.0 for score in scored))
    tokens = _Tokens(document)
    spans = [tokens.span(entity, scored=predicted) for entity in document.entities]
    meta = {**document.metadata, **({"model_version": writer.model_version} if predicted else {})}
    record = {
        "text": document.text,
        **({"tokens": tokens.records()} if document.words else {}),
        "spans": spans,
        **({"relations": [tokens.relation(r, spans) for r in document.relations]} if document.relations else {}),
        **({} if predicted else {"answer": "accept"}),
        **({"id": document.id} if document.id else {}),
        **({"meta": meta} if meta else {}),
    }
    return dumps(record, document) + "\n"


class _Tokens:
    """The words of a document as Prodigy's tokens. A span that is not on their borders has offsets only."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._starts = {word.start: number for number, word in enumerate(document.words)}
        self._ends = {word.end: number for number, word in enumerate(document.words)}

    def records(self) -> list[dict[str, Any]]:
        text = self._document.text
        return [
            {"text": text[start:end], "start": start, "end": end, "id": number, "ws": text[end : end + 1].isspace()}
            for number, (start, end) in enumerate(self._document.words)
        ]

    def span(self, entity: Entity, *, scored: bool) -> dict[str, Any]:
        first, last = self._starts.get(entity.start), self._ends.get(entity.end)
        return {
            "start": entity.start,
            "end": entity.end,
            **({} if first is None or last is None else {"token_start": first, "token_end": last}),
            "label": entity.label,
            **({"score": entity.score} if scored else {}),
        }

    def relation(self, relation: Relation, spans: Sequence[dict[str, Any]]) -> dict[str, Any]:
        ends = {"head": spans[relation.head], "child": spans[relation.tail]}
        tokens = {side: span["token_end"] for side, span in ends.items() if "token_end" in span}
        return {**tokens, **{f"{side}_span": span for side, span in ends.items()}, "label": relation.label}


def _write(documents: Iterable[Document], writer: Writer) -> None:
    writer.file(writer.each(documents, partial(_encode, writer=writer)))


PRODIGY = Format(
    name="prodigy",
    matches=_matches,
    read=_read,
    write=_write,
    needs_words=False,
    example='{"text": "Ann left.", "spans": [{"start": 0, "end": 3, "label": "PER"}], "answer": "accept"}',
    holds_annotators=True,
    holds_predictions=True,
)
