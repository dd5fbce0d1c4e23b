"""Descriptions of labels: in the recipe or in a file of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from spanwise.errors import RecipeError
from spanwise.recipe import Descriptions, Recipe

SMALL: dict[str, Any] = {"model": {"name": "seq-ner"}, "data": {"corpus": "demo"}}
TEXTS = {"entities": {"Person": "people", "Place": "towns"}, "relations": {"in": "is found in"}}


@pytest.mark.parametrize("sections", [("entities", "relations"), ("entities",), ("relations",), ()], ids=str)
def test_descriptions_stand_in_the_recipe_or_in_a_file_of_the_same_sections(
    tmp_path: Path, sections: tuple[str, ...]
) -> None:
    given = {section: TEXTS[section] for section in sections}
    (tmp_path / "texts.yaml").write_text(yaml.safe_dump(given) if given else "# none yet\n")
    inline = Recipe.parse({**SMALL, "data": {"corpus": "demo", "descriptions": given}}).data.descriptions
    assert inline == Descriptions.load(tmp_path / "texts.yaml") == Descriptions(**given)
    assert isinstance(inline, Descriptions)
    assert (inline.entities, inline.relations) == (given.get("entities", {}), given.get("relations", {}))


def test_a_file_of_descriptions_is_relative_to_the_recipe_that_names_it(
    small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    here = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(here)
    small.write_text("model: {name: seq-ner}\ndata: {corpus: demo, descriptions: sub/texts.yaml}\n")
    assert Recipe.load(small).data.descriptions == small.parent / "sub" / "texts.yaml"
    assert Recipe.load(small, ["data.descriptions=mine.yaml"]).data.descriptions == here / "mine.yaml"
    whole = "data={corpus: demo, descriptions: mine.yaml}"
    assert Recipe.load(small, [whole]).data.descriptions == here / "mine.yaml"
    assert Recipe.load(small, ["data.shots=1"]).data.descriptions == small.parent / "sub" / "texts.yaml"


@pytest.mark.parametrize(
    "given", ["texts.yaml", TEXTS, {"entities": {"Person": "a: b\n – é"}}], ids=["file", "all", "odd"]
)
def test_a_dumped_recipe_holds_descriptions_and_what_is_learned(small: Path, tmp_path: Path, given: Any) -> None:
    content = {"corpus": "demo", "descriptions": given, "sample": 9, "shots": 2, "leave_out": ["Place"]}
    small.write_text(yaml.safe_dump({**SMALL, "data": content}))
    recipe = Recipe.load(small)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recipe.yaml").write_text(recipe.dump())
    assert Recipe.load(tmp_path / "run" / "recipe.yaml") == recipe
    assert (recipe.data.sample, recipe.data.shots, recipe.data.leave_out) == (9, 2, ("Place",))


WRONG_DESCRIPTIONS = [
    ({"entites": {"Person": "people"}}, "entites: unknown key"),
    ({"Person": "people"}, "Person: unknown key"),
    ({"entities": ["Person"]}, "entities: Input should be a valid dictionary, not ['Person']"),
    ({"entities": {"Person": 3}}, "entities.Person: Input should be a valid string, not 3"),
    ({"relations": {"in": ["a", "b"]}}, "relations.in: Input should be a valid string, not ['a', 'b']"),
    (["Person"], "descriptions are a mapping with the sections entities and relations"),
]


@pytest.mark.parametrize(("given", "sentence"), WRONG_DESCRIPTIONS)
def test_wrong_descriptions_in_the_recipe_are_refused_in_one_sentence(given: Any, sentence: str) -> None:
    with pytest.raises(RecipeError) as caught:
        Recipe.parse({**SMALL, "data": {"corpus": "demo", "descriptions": given}}, "mine.yaml")
    message = str(caught.value)
    assert message.startswith("mine.yaml: data.descriptions")
    assert sentence in message
    assert message.endswith(".")
    assert "\n" not in message


@pytest.mark.parametrize(("given", "sentence"), WRONG_DESCRIPTIONS)
def test_a_file_of_wrong_descriptions_is_refused_in_one_sentence(tmp_path: Path, given: Any, sentence: str) -> None:
    path = tmp_path / "texts.yaml"
    path.write_text(yaml.safe_dump(given))
    with pytest.raises(RecipeError) as caught:
        Descriptions.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert sentence in message
    assert message.endswith(".")
    assert "\n" not in message


def test_a_file_of_descriptions_that_is_no_yaml_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "texts.yaml"
    path.write_text("entities:\n  Person: [people\n")
    with pytest.raises(RecipeError, match=r"texts\.yaml:3: invalid YAML \(.+\); correct it\."):
        Descriptions.load(path)
