"""How relations are numbered and written, on the page as in the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from spanwise.document import Document
from spanwise.schema import Schema


def relation_indices(documents: Iterable[Document], schema: Schema | None = None) -> dict[str, int]:
    """A running number per label that occurs: the schema's labels in its order, then others by name."""
    found = {relation.label for document in documents for relation in document.relations}
    known = [name for name in schema.relation_names if name in found] if schema else []
    return {label: index for index, label in enumerate([*known, *sorted(found.difference(known))])}


def symmetric_labels(schema: Schema | None) -> frozenset[str]:
    """The labels of relations that have no direction; without a schema every relation has one."""
    return frozenset(kind.name for kind in schema.relations if kind.symmetric) if schema else frozenset()


def arrow(label: str, *, symmetric: bool) -> str:
    """What stands between head and tail where a relation is written out."""
    return f"—{label}—" if symmetric else f"—{label}→"
