"""spanwise's own format: one JSON object a line that says all a document can say, with character offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.formats.base import Format, Probe
from spanwise.formats.fields import arrays, get, identifier, objects, row, score
from spanwise.formats.foreign import EXAMPLE
from spanwise.formats.reading import Reader
from spanwise.formats.writing import Writer, dumps

KEYS = frozenset({"text", "words", "entities", "relations", "id", "metadata"})


def _matches(probe: Probe) -> bool:
    return probe.record is not None and "text" in probe.record and "tokens" not in probe.record


def parse(record: dict[str, Any], reader: Reader) -> Iterator[Document]:
    """The document of one record."""
    reader.count_unknown_fields(record, KEYS)
    yield Document(
        text=get(record, "text", str),
        words=tuple(Offsets(*row(word, (int, int), f"'words'[{i}]")) for i, word in enumerate(arrays(record, "words"))),
        entities=tuple(
            Entity(get(e, "start", int), get(e, "end", int), get(e, "label", str), score(e), _head(e))
            for e in objects(record, "entities")
        ),
        relations=tuple(
            Relation(get(r, "head", int), get(r, "tail", int), get(r, "label", str), score(r))
            for r in objects(record, "relations")
        ),
        id=identifier(record, "id"),
        metadata=get(record, "metadata", dict, {}),
    )


def _head(entity: dict[str, Any]) -> Offsets | None:
    return None if entity.get("head") is None else Offsets(*row(get(entity, "head", list), (int, int), "'head'"))


def _read(reader: Reader) -> Iterator[Document]:
    return reader.json_line_documents(partial(parse, reader=reader))


def encode(document: Document) -> str:
    """One line with its end."""
    return dumps(document.to_dict(), document) + "\n"


def _write(documents: Iterable[Document], writer: Writer) -> None:
    writer.file(writer.each(documents, encode))


JSONL = Format(
    name="jsonl",
    matches=_matches,
    read=_read,
    write=_write,
    needs_words=False,
    example=EXAMPLE,
    holds_heads=True,
    suffixes=(".jsonl", ".ndjson"),
)
