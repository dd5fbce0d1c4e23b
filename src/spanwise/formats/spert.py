"""SpERT's JSON: one array (or JSON lines) of sentences as tokens, with entities and relations by token index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from spanwise.document import Document, Relation
from spanwise.formats.base import Format, Probe
from spanwise.formats.fields import get, identifier, objects, strings
from spanwise.formats.reading import Reader
from spanwise.formats.tokens import align_to_words, count_spacing, word_spans
from spanwise.formats.writing import Writer, array_chunks, dumps

_KEYS = frozenset({"tokens", "entities", "relations", "orig_id"})


def _matches(probe: Probe) -> bool:
    return probe.record is not None and "tokens" in probe.record and "entity_mentions" not in probe.record


def _parse(record: dict[str, Any], reader: Reader) -> Iterator[Document]:
    reader.count_unknown_fields(record, _KEYS)
    yield Document.from_words(
        strings(get(record, "tokens", list), "'tokens'"),
        [(get(e, "start", int), get(e, "end", int), get(e, "type", str)) for e in objects(record, "entities")],
        [Relation(get(r, "head", int), get(r, "tail", int), get(r, "type", str)) for r in objects(record, "relations")],
        id=identifier(record, "orig_id"),
    )


def _read(reader: Reader) -> Iterator[Document]:
    parse = partial(_parse, reader=reader)
    return reader.json_line_documents(parse) if reader.opening() == b"{" else reader.json_array_documents(parse)


def _encode(document: Document, writer: Writer) -> str:
    kept = align_to_words(document, writer)
    count_spacing(document, " ", writer)
    writer.count_unsupported(kept)
    record: dict[str, Any] = {
        "tokens": kept.word_texts,
        "entities": [{"type": span.label, "start": span.first, "end": span.last} for span in word_spans(kept)],
        "relations": [{"type": r.label, "head": r.head, "tail": r.tail} for r in kept.relations],
    }
    if kept.id:
        record["orig_id"] = kept.id
    return dumps(record, document)


def _write(documents: Iterable[Document], writer: Writer) -> None:
    writer.file(array_chunks(writer.each(documents, partial(_encode, writer=writer))))


SPERT = Format(
    name="spert",
    matches=_matches,
    read=_read,
    write=_write,
    needs_words=True,
    example='{"tokens": ["Ann", "left"], "entities": [{"type": "PER", "start": 0, "end": 1}], "relations": []}',
    suffixes=(".json",),
)
