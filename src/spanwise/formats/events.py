"""Events inside documents: a trigger is an entity, an argument a relation from the trigger, labeled with its role.

A document read from a format that knows events lists their types in its metadata, so that they can be
written as events again and be distinguished from other entities.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from spanwise.document import Document, Relation
from spanwise.formats.writing import Writer

EVENT_TYPES = "event_types"
UNTYPED = "untyped"
"""The label of a mention whose file gives no type: GENEVA's argument mentions are like that."""


@dataclass(frozen=True)
class EventView:
    """A document's entities and relations by kind: indices of mentions and triggers, relations, arguments."""

    mentions: list[int]
    triggers: list[int]
    relations: list[Relation]
    arguments: dict[int, list[Relation]]

    @classmethod
    def of(cls, document: Document) -> EventView:
        types = event_types(document)
        triggers = [i for i, entity in enumerate(document.entities) if entity.label in types]
        heads = set(triggers)
        arguments: defaultdict[int, list[Relation]] = defaultdict(list)
        for relation in document.relations:
            if relation.head in heads:
                arguments[relation.head].append(relation)
        return cls(
            mentions=[i for i in range(len(document.entities)) if i not in heads],
            triggers=triggers,
            relations=[relation for relation in document.relations if relation.head not in heads],
            arguments=dict(arguments),
        )


def event_types(document: Document) -> frozenset[str]:
    """The labels that are event types in this document, by its metadata."""
    types = document.metadata.get(EVENT_TYPES, ())
    return (
        frozenset(types) if isinstance(types, list | tuple) and all(isinstance(t, str) for t in types) else frozenset()
    )


def event_metadata(types: Iterable[str]) -> dict[str, Any]:
    """The metadata that marks these labels as event types; empty without any."""
    names = sorted(set(types))
    return {EVENT_TYPES: names} if names else {}


def without_links_to_triggers(document: Document, writer: Writer) -> Document:
    """For formats whose relations and arguments can only end in an entity mention, never in a trigger."""
    triggers = set(EventView.of(document).triggers)
    kept = [relation for relation in document.relations if relation.tail not in triggers]
    writer.drop_or_refuse(document, "relation to an event trigger", len(document.relations) - len(kept))
    return document.with_annotations(document.entities, kept)


def triggers_only(document: Document) -> Document:
    """The document with its event triggers as its only annotations: the task of event detection."""
    types = event_types(document)
    return document.with_annotations(entity for entity in document.entities if entity.label in types)
