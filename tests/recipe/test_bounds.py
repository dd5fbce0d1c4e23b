"""Every number in a recipe has an upper bound: a slip of the keyboard ends with one sentence, not with all memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from annotated_types import Le, Lt
from pydantic import BaseModel

from spanwise.document import Document
from spanwise.errors import RecipeError
from spanwise.recipe import Recipe, override
from spanwise.recipe.reference import SECTIONS
from spanwise.seam.registry import find_model, model_names
from spanwise.text.alignment import align
from spanwise.text.profile import profile

OWN = [name for name in model_names() if find_model(name).__module__.startswith("spanwise.")]
KINDS: dict[str, type[BaseModel]] = {**SECTIONS, **{name: find_model(name).Config for name in OWN}}


def _parts(annotation: Any) -> Iterator[Any]:
    """The types that an annotation is made of: the members of unions, and what is annotated."""
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)


def _numbers() -> Iterator[tuple[str, str, list[Any]]]:
    """Section or model, option, and the constraints of each option that takes a number."""
    for name, kind in KINDS.items():
        for option, field in kind.model_fields.items():
            parts = list(_parts(field.annotation))
            if any(part in (int, float) for part in parts):
                inner = [rule for part in parts for of in getattr(part, "__metadata__", ()) for rule in _rules(of)]
                yield name, option, [*field.metadata, *inner]


def _rules(constraint: Any) -> list[Any]:
    return list(getattr(constraint, "metadata", [constraint]))


NUMBERS = [(name, option) for name, option, _ in _numbers()]


def test_the_options_with_numbers_are_found() -> None:
    assert len(NUMBERS) > 50
    assert {("train", "seed"), ("stsn", "layers"), ("spert", "max_width"), ("dspert", "depth")} <= set(NUMBERS)


def test_every_number_has_an_upper_bound() -> None:
    unbounded = [
        f"{name}.{option}"
        for name, option, rules in _numbers()
        if not any(isinstance(rule, (Le, Lt)) for rule in rules)
    ]
    assert unbounded == []


def _sections(name: str, option: str, value: object) -> dict[str, Any]:
    sections: dict[str, Any] = {"model": {"name": "seq-ner"}, "data": {"corpus": "demo"}}
    if name in OWN:
        nested = {"nested": True} if "match_weight" in KINDS[name].model_fields else {}  # else these are left out
        return {**sections, "model": {"name": name, **nested, option: value}}
    partner = {"name": "span-ner"} if name == "bundle" else {}
    return {**sections, name: {**sections.get(name, {}), **partner, option: value}}


@pytest.mark.parametrize("value", [2**63, 10**30, 1e30, float("inf"), float("nan"), -(2**63)], ids=str)
@pytest.mark.parametrize(("name", "option"), NUMBERS)
def test_a_number_out_of_bounds_is_refused_in_one_sentence(name: str, option: str, value: float) -> None:
    with pytest.raises(RecipeError) as caught:
        Recipe.parse(_sections(name, option, value), "mine.yaml")
    sentence = str(caught.value)
    assert sentence.startswith("mine.yaml: ")
    assert option in sentence
    assert "\n" not in sentence
    assert len(sentence) < 300


@pytest.mark.parametrize(("name", "option"), [pair for pair in NUMBERS if pair != ("train", "seed")])
def test_two_to_the_31_is_refused(name: str, option: str) -> None:
    with pytest.raises(RecipeError, match=option):
        Recipe.parse(_sections(name, option, 2**31))


def test_the_largest_seed_is_taken() -> None:
    data: dict[str, Any] = {"model": {"name": "seq-ner"}, "data": {"corpus": "demo"}}
    assert Recipe.parse(override(data, [f"train.seed={2**63 - 1}"])).train.seed == 2**63 - 1


def test_a_width_from_the_data_stays_within_its_bound() -> None:
    document = Document.from_words(["word"] * 700, [(0, 600, "Passage")])
    found = profile([align(document)])
    config = find_model("span-ner").Config().fitted(found)
    assert config.traits().max_width == 512
    assert "1 training entity (100.0%) is wider than the model's max_width of 512 words." in list(config.notices(found))
