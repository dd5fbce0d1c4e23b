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
        SchemaError, match=r"dev\.jsonl has the entity labels \['Place'\], which the training data lacks"
    ):
        Schema((EntityType("Person"),), (RelationType("in"),)).check([MARKED], "dev.jsonl")
    with pytest.raises(SchemaError, match=r"relation labels \['in'\]"):
        Schema((EntityType("Person"), EntityType("Place"))).check([MARKED], "dev.jsonl")
