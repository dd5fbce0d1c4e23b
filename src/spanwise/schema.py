"""The labels of a task: entity and relation types, their descriptions, and the arguments that a relation allows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from spanwise.document import Document
from spanwise.errors import SchemaError

_JOINTS = re.compile(r"[_\-./]+")  # between the words of a label


@dataclass(frozen=True)
class EntityType:
    """An entity label, its description, and its name in plain words if the label is a code such as `pers.author`."""

    name: str
    description: str = ""
    title: str = ""

    @property
    def plain_name(self) -> str:
        """The title, or the label with its words set apart."""
        return self.title or _in_plain_words(self.name)


@dataclass(frozen=True)
class RelationType:
    """A relation label. `head_types` and `tail_types`, if given, are the only entity types of its arguments."""

    name: str
    description: str = ""
    symmetric: bool = False
    head_types: tuple[str, ...] = ()
    tail_types: tuple[str, ...] = ()

    @property
    def plain_name(self) -> str:
        """The label with its words set apart."""
        return _in_plain_words(self.name)


@dataclass(frozen=True)
class Schema:
    """The entity and relation types of a task, in the order of the model's outputs."""

    entities: tuple[EntityType, ...] = ()
    relations: tuple[RelationType, ...] = ()

    def __post_init__(self) -> None:
        for kind, names in (("entity", self.entity_names), ("relation", self.relation_names)):
            if len(set(names)) != len(names) or not all(names):
                raise SchemaError(
                    f"the {kind} types {list(names)} contain an empty or repeated name; give each type one name."
                )
        known = set(self.entity_names)
        for relation in self.relations:
            if unknown := sorted({*relation.head_types, *relation.tail_types} - known):
                raise SchemaError(
                    f"relation {relation.name!r} allows arguments of unknown type {unknown}; known are {sorted(known)}."
                )

    @cached_property
    def entity_names(self) -> tuple[str, ...]:
        return tuple(entity.name for entity in self.entities)

    @cached_property
    def relation_names(self) -> tuple[str, ...]:
        return tuple(relation.name for relation in self.relations)

    @classmethod
    def from_documents(cls, documents: Iterable[Document]) -> Schema:
        """The labels that occur, sorted by name so that the order of files does not matter."""
        entities: set[str] = set()
        relations: set[str] = set()
        for document in documents:
            entities.update(entity.label for entity in document.entities)
            relations.update(relation.label for relation in document.relations)
        return cls(tuple(map(EntityType, sorted(entities))), tuple(map(RelationType, sorted(relations))))

    @cached_property
    def missing_descriptions(self) -> tuple[str, ...]:
        """The entity types without a description."""
        return tuple(entity.name for entity in self.entities if not entity.description.strip())

    def with_descriptions(self, entities: Mapping[str, str], relations: Mapping[str, str]) -> Schema:
        """The same labels with these descriptions in place of their own."""
        for kind, given, known in (
            ("entity", entities, self.entity_names),
            ("relation", relations, self.relation_names),
        ):
            if unknown := sorted(set(given) - set(known)):
                raise SchemaError(
                    f"{unknown[0]!r} has a description, but the data has no such {kind} type ({list(known)})."
                )
        return Schema(
            tuple(replace(e, description=entities.get(e.name, e.description)) for e in self.entities),
            tuple(replace(r, description=relations.get(r.name, r.description)) for r in self.relations),
        )

    def without(self, names: Collection[str]) -> Schema:
        """The schema without these entity types, and without relations whose head or tail types are all removed."""
        if unknown := sorted(set(names) - set(self.entity_names)):
            known = ", ".join(self.entity_names)
            raise SchemaError(f"unknown entity type {unknown[0]!r} in data.leave_out; choose from {known}.")
        kept = tuple(entity for entity in self.entities if entity.name not in names)
        relations = []
        for r in self.relations:
            heads, tails = (tuple(n for n in allowed if n not in names) for allowed in (r.head_types, r.tail_types))
            if (heads or not r.head_types) and (tails or not r.tail_types):
                relations.append(replace(r, head_types=heads, tail_types=tails))
        return Schema(kept, tuple(relations))

    def asked_for(self, entities: tuple[EntityType, ...], relations: Mapping[str, str]) -> Schema:
        """The schema of a call that asks for these entity types, and for relations by name with their descriptions.

        A relation of this schema stays symmetric, and keeps its argument types if all of them are asked for.
        """
        own, names = {kind.name: kind for kind in self.relations}, {kind.name for kind in entities}
        asked = []
        for name, text in relations.items():
            kind = replace(own.get(name, RelationType(name)), description=text)
            known = names.issuperset((*kind.head_types, *kind.tail_types))
            asked.append(kind if known else replace(kind, head_types=(), tail_types=()))
        return Schema(entities, tuple(asked))

    def to_dict(self) -> dict[str, Any]:
        return {"entities": [_entity(e) for e in self.entities], "relations": [asdict(r) for r in self.relations]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Schema:
        try:
            entities = tuple(EntityType(**entity) for entity in data["entities"])
            relations = tuple(
                RelationType(**{**r, "head_types": tuple(r["head_types"]), "tail_types": tuple(r["tail_types"])})
                for r in data.get("relations", ())
            )
            names = [*(entity.name for entity in entities), *(relation.name for relation in relations)]
            if not all(isinstance(name, str) for name in names):
                raise TypeError("a name is not a text")
        except (KeyError, TypeError) as error:
            raise SchemaError(f"the schema is malformed ({error}); write it with Schema.to_dict.") from None
        return cls(entities, relations)

    def check(self, documents: Iterable[Document], where: str) -> None:
        """Raise a SchemaError if the documents have a label that is not in the schema."""
        found = Schema.from_documents(documents)
        for kind, seen, known in (
            ("entity", found.entity_names, self.entity_names),
            ("relation", found.relation_names, self.relation_names),
        ):
            if unknown := sorted(set(seen) - set(known)):
                raise SchemaError(
                    f"{where} has the {kind} labels {unknown}, which do not occur in the training data (it has "
                    f"{sorted(known)}); correct the labels or add examples of them to the training data."
                )


def _in_plain_words(name: str) -> str:
    return " ".join(_JOINTS.sub(" ", name).split()) or name


def _entity(kind: EntityType) -> dict[str, str]:
    """The values of an entity type; a title only if it has one."""
    return {name: value for name, value in asdict(kind).items() if value or name != "title"}
