"""The labels of a task."""

from __future__ import annotations

import json

import pytest

from spanwise.document import Document, Entity, Relation
from spanwise.errors import SchemaError
from spanwise.schema import EntityType, RelationType, Schema

MARKED = Document(
    "Bo at Kell", entities=(Entity(0, 2, "Person"), Entity(6, 10, "Place")), relations=(Relation(0, 1, "in"),)
)


def test_a_schema_of_documents_holds_what_occurs_by_name() -> None:
    schema = Schema.from_documents([Document("x"), MARKED])
    assert schema.entity_names == ("Person", "Place")
    assert schema.relation_names == ("in",)


def test_a_schema_survives_json() -> None:
    relation = RelationType("in", "is found in", symmetric=False, head_types=("Person",), tail_types=("Place",))
    schema = Schema(
        (EntityType("Person", "people"), EntityType("Place")), (relation, RelationType("near", symmetric=True))
    )
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


@pytest.mark.parametrize(
    "build",
    [
        lambda: Schema((EntityType("Person"), EntityType("Person"))),
        lambda: Schema((EntityType(""),)),
        lambda: Schema((EntityType("Person"),), (RelationType("in", head_types=("Person", "Town")),)),
        lambda: Schema.from_dict({"relations": []}),
        lambda: Schema.from_dict({"entities": [{"title": "Person"}]}),
    ],
)
def test_a_schema_that_contradicts_itself_is_refused(build: object) -> None:
    with pytest.raises(SchemaError):
        build()  # type: ignore[operator]


def test_documents_with_labels_that_the_schema_lacks_are_refused_by_name() -> None:
    with pytest.raises(
        SchemaError, match=r"dev\.jsonl has the entity labels \['Place'\], which do not occur in the training data"
    ):
        Schema((EntityType("Person"),), (RelationType("in"),)).check([MARKED], "dev.jsonl")
    with pytest.raises(SchemaError, match=r"relation labels \['in'\]"):
        Schema((EntityType("Person"), EntityType("Place"))).check([MARKED], "dev.jsonl")


PEOPLE_IN_PLACES = Schema(
    (EntityType("Person", "people"), EntityType("Place"), EntityType("Planet", " \n")),
    (
        RelationType("in", "is found in", head_types=("Person", "Place"), tail_types=("Place",)),
        RelationType("orbits", head_types=("Planet",), tail_types=("Planet",)),
        RelationType("near", symmetric=True),
    ),
)


def test_entity_types_without_a_description_are_listed_in_order() -> None:
    assert PEOPLE_IN_PLACES.missing_descriptions == ("Place", "Planet")
    assert Schema((EntityType("Person", "people"),), (RelationType("in"),)).missing_descriptions == ()


def test_descriptions_take_the_place_of_those_that_were_there_and_change_nothing_else() -> None:
    schema = PEOPLE_IN_PLACES.with_descriptions({"Place": "towns", "Person": "who has a name"}, {"near": "close by"})
    assert [(e.name, e.description) for e in schema.entities] == [
        ("Person", "who has a name"),
        ("Place", "towns"),
        ("Planet", " \n"),
    ]
    assert [r.description for r in schema.relations] == ["is found in", "", "close by"]
    assert PEOPLE_IN_PLACES.with_descriptions({}, {}) == PEOPLE_IN_PLACES


@pytest.mark.parametrize(
    ("entities", "relations", "sentence"),
    [
        (
            {"Place": "towns", "Town": "towns"},
            {},
            r"'Town' has a description, but the data has no such entity type \(\['P",
        ),
        (
            {},
            {"at": "is found at"},
            r"'at' has a description, but the data has no such relation type \(\['in', 'orb",
        ),
        ({"in": "is found in"}, {}, r"'in' has a description, but the data has no such entity type"),
        ({}, {"Person": "people"}, r"'Person' has a description, but the data has no such relation type"),
    ],
    ids=["entity", "relation", "relation among entities", "entity among relations"],
)
def test_a_description_of_an_unknown_label_is_refused_by_name(
    entities: dict[str, str], relations: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SchemaError, match=sentence):
        PEOPLE_IN_PLACES.with_descriptions(entities, relations)


@pytest.mark.parametrize(
    ("held_out", "entities", "relations"),
    [
        ([], ["Person", "Place", "Planet"], {"in": (("Person", "Place"), ("Place",)), "orbits": (("Planet",),) * 2}),
        (["Person"], ["Place", "Planet"], {"in": (("Place",), ("Place",)), "orbits": (("Planet",),) * 2}),
        (["Place"], ["Person", "Planet"], {"orbits": (("Planet",),) * 2}),
        (["Planet"], ["Person", "Place"], {"in": (("Person", "Place"), ("Place",))}),
        (["Planet", "Place"], ["Person"], {}),
    ],
    ids=["none", "head", "only tail", "only head and tail", "two"],
)
def test_without_some_types_no_relation_is_left_that_only_they_could_take_part_in(
    held_out: list[str], entities: list[str], relations: dict[str, tuple[tuple[str, ...], ...]]
) -> None:
    """`near` says nothing of its types, so that it always stays."""
    schema = PEOPLE_IN_PLACES.without(held_out)
    assert [e for e in PEOPLE_IN_PLACES.entities if e.name in entities] == list(schema.entities)
    assert {r.name: (r.head_types, r.tail_types) for r in schema.relations} == {**relations, "near": ((), ())}
    assert all(r.description == "is found in" for r in schema.relations if r.name == "in")
    assert schema.relations[-1].symmetric


def test_a_type_that_is_not_there_cannot_be_left_out() -> None:
    with pytest.raises(SchemaError, match=r"unknown entity type 'Town' in data.leave_out; choose from .*Planet"):
        PEOPLE_IN_PLACES.without(["Person", "Town"])
    with pytest.raises(SchemaError, match=r"unknown entity type 'near' in data\.leave_out"):
        PEOPLE_IN_PLACES.without(["near"])
