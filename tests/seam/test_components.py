"""Decoders and proposers are stored as JSON and come back equal, those of every model and any others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.decoding.pairs import PairDecoder
from spanwise.decoding.pointers import PointerDecoder
from spanwise.decoding.spans import SpanDecoder, TwoStageSpanDecoder
from spanwise.decoding.tags import TagDecoder
from spanwise.errors import ModelError
from spanwise.schema import EntityType, RelationType, Schema
from spanwise.seam.component import Component
from spanwise.seam.decoder import PredictedSpans
from spanwise.seam.proposals import Negatives, Proposer, SpanProposer
from spanwise.seam.registry import find_decoder, find_model, find_proposer, model_names
from spanwise.text.profile import DataProfile

ENTITIES = tuple(map(EntityType, ("Person", "Place", "Firm")))
SCHEMAS = {
    "entities alone": Schema(ENTITIES),
    "with relations": Schema(
        ENTITIES,
        (
            RelationType("lives in", head_types=("Person",), tail_types=("Place", "Firm")),
            RelationType("rival of", symmetric=True),
        ),
    ),
}
OPTIONS: dict[str, list[Any]] = {
    "nested": [False, True],
    "multi_label": [False, True],
    "matching": ["heuristic", "nearest"],
    "tagging": ["softmax", "crf"],
    "screening_threshold": [None, 0.25],
    "relation_activation": ["softmax", "sigmoid"],
    "negatives": [7],
}


def configs(model: str) -> Iterator[Any]:
    """The model's options, and for our own models these with each of the above that they have."""
    config = find_model(model).Config
    yield config()
    for name, values in OPTIONS.items():
        if name in config.model_fields and config.__module__.startswith("spanwise."):
            yield from (config(**{name: value}) for value in values)


def through_json(component: Component) -> Any:
    stored = json.loads(json.dumps(component.to_dict()))
    find = find_proposer if isinstance(component, Proposer) else find_decoder
    return find(stored["kind"]).from_dict(stored)


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("model", model_names())
def test_the_decoder_and_proposer_of_every_model_come_back_equal(model: str, schema: str) -> None:
    for config in configs(model):
        fitted = config.fitted(DataProfile(widths={1: 3, 2: 1}))
        decoder, proposer = fitted.decoder(SCHEMAS[schema]), fitted.proposer(SCHEMAS[schema])
        assert through_json(decoder) == decoder
        assert type(through_json(decoder)) is type(decoder)
        if proposer is not None:
            assert through_json(proposer) == proposer


types = st.lists(st.integers(0, 4), max_size=3).map(tuple)
negatives = st.builds(Negatives, st.integers(1, 2**31), st.booleans())
components = st.one_of(
    st.builds(SpanDecoder, st.booleans(), st.booleans()),
    st.builds(TwoStageSpanDecoder, st.booleans(), st.booleans(), st.none() | st.floats(0, 1)),
    st.builds(PointerDecoder, st.booleans(), st.sampled_from(["heuristic", "nearest", "classifier"])),
    st.builds(TagDecoder, st.booleans()),
    st.builds(
        PairDecoder,
        st.booleans(),
        st.just(5),
        st.lists(st.booleans(), max_size=3).map(tuple),
        st.lists(types, max_size=3).map(tuple),
        st.lists(types, max_size=3).map(tuple),
        st.booleans(),
        st.sampled_from(["sigmoid", "softmax"]),
    ),
    st.builds(SpanProposer, st.integers(1, 99), negatives, st.booleans(), st.none() | negatives, st.integers(0, 9)),
)


@given(components)
def test_any_component_comes_back_equal(component: Component) -> None:
    assert through_json(component) == component


def test_a_decoder_that_has_been_used_is_stored_as_before() -> None:
    decoder = PairDecoder.of(SCHEMAS["with relations"], nested=False, multi_label=False)
    before = decoder.to_dict()
    spans = PredictedSpans(np.array([[0, 0, 1], [0, 2, 3]]), np.array([0, 1]), np.ones(2, np.float32))
    assert len(list(decoder.pairs(spans))) == 1
    assert decoder.to_dict() == before
    assert through_json(decoder) == decoder


def test_stored_components_have_a_kind_and_their_options_by_name() -> None:
    proposer = SpanProposer(4, Negatives(7, per_gold=True))
    assert proposer.to_dict() == {
        "kind": "spans",
        "max_width": 4,
        "negatives": {"number": 7, "per_gold": True},
        "merge_labels": False,
        "pairs": None,
        "relations": 0,
    }


@pytest.mark.parametrize("wrong", [{"nested": "perhaps"}, {"matching": "longest"}])
def test_stored_options_that_cannot_work_are_refused(wrong: dict[str, str]) -> None:
    stored = PointerDecoder(nested=False, matching="nearest").to_dict() | wrong
    with pytest.raises(ValueError, match=next(iter(wrong))):
        PointerDecoder.from_dict(stored)


def test_components_with_other_options_are_not_equal() -> None:
    decoder = TwoStageSpanDecoder(nested=False)
    assert through_json(replace(decoder, screening_threshold=0.5)) != decoder


@pytest.mark.parametrize("find", [find_decoder, find_proposer])
def test_a_kind_that_no_package_provides_is_refused_with_what_to_do(find: Any) -> None:
    with pytest.raises(ModelError, match=r"needs 'magic' from the group 'spanwise\.\w+'; install the package"):
        find("magic")
