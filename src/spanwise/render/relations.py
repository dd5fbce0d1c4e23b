"""Numbering and notation of relations, shared by the page and the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from spanwise.document import Document
from spanwise.schema import Schema


def relation_indices(documents: Iterable[Document], schema: Schema | None = None) -> dict[str, int]:
    """An index per label that occurs: the schema's labels in its order, then other labels by name."""
    found = {relation.label for document in documents for relation in document.relations}
    known = [name for name in schema.relation_names if name in found] if schema else []
    return {label: index for index, label in enumerate([*known, *sorted(found.difference(known))])}


def symmetric_labels(schema: Schema | None) -> frozenset[str]:
    """The labels of symmetric relations; without a schema, every relation is directed."""
    return frozenset(kind.name for kind in schema.relations if kind.symmetric) if schema else frozenset()


def arrow(label: str, *, symmetric: bool) -> str:
    """The labeled arrow between head and tail in a written relation; a symmetric relation has no arrow head."""
    return f"—{label}—" if symmetric else f"—{label}→"
