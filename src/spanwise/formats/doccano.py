"""doccano: JSON lines of texts with `label` as rows of offsets, or with `entities` and `relations` as objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from spanwise.document import Document
from spanwise.formats.base import Format, Probe
from spanwise.formats.fields import arrays, get, identifier, objects, row
from spanwise.formats.reading import Reader
from spanwise.formats.standoff import Link, Mark, Standoff
from spanwise.formats.writing import Writer, dumps

_ROWS = ("label", "labels", "entities")  # of a start, an end and a label; the name depends on the version of doccano
_OWN = frozenset({"text", "data", *_ROWS, "relations", "id", "Comments", "comments"})


def _matches(probe: Probe) -> bool:
    record = probe.record
    if record is None or not isinstance(record.get("text"), str):
        return False
    rows = any(_is_row(_first(record, field)) for field in _ROWS) or record.get("label") == []
    return rows or "start_offset" in _first(record, "entities") or {"relations", "Comments"} <= record.keys()


def _first(record: dict[str, Any], field: str) -> Any:
    value = record.get(field)
    return value[0] if isinstance(value, list) and value and isinstance(value[0], dict | list) else ()


def _is_row(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and isinstance(value[0], int) and isinstance(value[2], str)


def _read(reader: Reader) -> Iterator[Document]:
    parse = partial(_parse, reader=reader)
    as_lines = reader.opening() == b"{"
    return reader.json_line_documents(parse) if as_lines else reader.json_array_documents(parse)


def _parse(record: dict[str, Any], reader: Reader) -> Iterator[Document]:
    reader.report.drop("comment", len(record.get("Comments") or record.get("comments") or ()))
    in_rows = [field for field in _ROWS if isinstance(_first(record, field), list)]
    marks = [_row_mark(values) for field in in_rows for values in arrays(record, field)]
    links: list[Link] = []
    if "entities" not in in_rows:
        marks += map(_mark, objects(record, "entities"))
        links += map(_link, objects(record, "relations"))
    metadata = {key: value for key, value in record.items() if key not in _OWN}
    standoff = Standoff(get(record, "text", str), marks, links)
    yield standoff.document(reader.report, identifier(record, "id"), metadata)


def _row_mark(values: list[Any]) -> Mark:
    return Mark(*row(values, (int, int, str), "a label"))


def _mark(entity: dict[str, Any]) -> Mark:
    bounds = get(entity, "start_offset", int), get(entity, "end_offset", int)
    return Mark(*bounds, get(entity, "label", str), id=identifier(entity, "id"))


def _link(relation: dict[str, Any]) -> Link:
    return Link(identifier(relation, "from_id"), identifier(relation, "to_id"), get(relation, "type", str))


def _encode(document: Document, writer: Writer) -> str:
    """Metadata become fields of the record, as doccano imports and exports them."""
    kept = {key: value for key, value in document.metadata.items() if key not in _OWN}
    writer.count_unsupported(document, metadata=kept)
    writer.count_dropped("words", bool(document.words))
    record = {
        **({"id": document.id} if document.id else {}),
        "text": document.text,
        "entities": [
            {"id": number, "label": entity.label, "start_offset": entity.start, "end_offset": entity.end}
            for number, entity in enumerate(document.entities)
        ],
        "relations": [
            {"id": number, "from_id": relation.head, "to_id": relation.tail, "type": relation.label}
            for number, relation in enumerate(document.relations)
        ],
        **kept,
    }
    return dumps(record, document) + "\n"


def _write(documents: Iterable[Document], writer: Writer) -> None:
    writer.file(writer.each(documents, partial(_encode, writer=writer)))


DOCCANO = Format(
    name="doccano",
    matches=_matches,
    read=_read,
    write=_write,
    needs_words=False,
    example='{"text": "Ann left.", "label": [[0, 3, "PER"]]}',
)
