"""Names and descriptions of the labels of named corpora, and the corpora of many label sets (`open/NAME`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from spanwise.corpora.catalog import OPEN, PACKAGE
from spanwise.document import ANNOTATED, Document, Entity
from spanwise.schema import EntityType, Schema

Texts = Mapping[str, Mapping[str, str]]  # name and description by label


@lru_cache(maxsize=4)
def read_label_texts(path: Path) -> Mapping[str, Texts]:
    """Label texts by corpus and label."""
    content: Mapping[str, Texts] = yaml.safe_load(path.read_text("utf-8"))
    return content


def with_plain_names(name: str, schema: Schema) -> Schema:
    """The schema of a named corpus with the label texts that ship with the package."""
    texts = read_label_texts(PACKAGE / "data/corpora/labels.yaml").get(name, {})
    kinds = ((kind, texts.get(kind.name, {})) for kind in schema.entities)
    entities = (EntityType(k.name, k.description or t.get("description", ""), t.get("name", "")) for k, t in kinds)
    return Schema(tuple(entities), schema.relations)


def open_schema(name: str, texts: Mapping[str, Texts]) -> Schema:
    """The labels of a corpus `open/NAME`."""
    rows = texts[name.removeprefix(OPEN)].items()
    return Schema(tuple(EntityType(label, row["description"], row["name"]) for label, row in rows))


def read_open(path: Path, schemas: Path) -> Iterator[Document]:
    """The documents of a file; `schema` names the labels that a record was annotated for."""
    annotated: dict[str, list[str]] = json.loads(schemas.read_text("utf-8"))
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            record: dict[str, Any] = json.loads(line)
            entities = tuple(Entity(e["start"], e["end"], e["label"]) for e in record["entities"])
            part = record.get("schema")
            metadata = {} if part is None else {ANNOTATED: annotated[part]}
            yield Document(record["text"], (), entities, (), record["id"], metadata)
