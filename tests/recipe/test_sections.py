"""Sections: a model's options are validated once, written flat, and compared by value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from spanwise.recipe import RECIPES, BundleSection, EvaluationSection, ModelSection, Recipe, override
from spanwise.seam.registry import find_model

SHIPPED = sorted(RECIPES.glob("*.yaml"))
SMALL: dict[str, Any] = {"model": {"name": "seq-ner"}, "data": {"corpus": "demo"}}


def test_overrides_reach_the_models_own_options() -> None:
    recipe = Recipe.parse(override(SMALL, ["model.tagging=crf", "bundle.name=span-ner", "bundle.max_width=4"]))
    assert recipe.model.config == find_model("seq-ner").Config(tagging="crf")
    assert recipe.bundle is not None
    assert recipe.bundle.config == find_model("span-ner").Config(max_width=4)


def test_options_are_validated_once_and_kept() -> None:
    section = ModelSection.model_validate({"name": "span-ner", "max_width": "7"})
    assert section.config is section.config
    assert section.config.model_dump()["max_width"] == 7
    with pytest.raises(ValidationError):
        section.config.max_width = 8  # type: ignore[attr-defined]


def test_a_section_takes_options_that_are_validated_already() -> None:
    config = find_model("span-ner").Config(max_width=4)
    section = ModelSection(name="span-ner", config=config)
    assert section.config is config
    assert section == ModelSection.model_validate({"name": "span-ner", "max_width": 4})


def test_sections_are_written_as_one_flat_mapping_with_every_option() -> None:
    section = ModelSection.model_validate({"name": "span-ner", "max_width": 4})
    options = find_model("span-ner").Config(max_width=4).model_dump()
    assert section.model_dump() == {"name": "span-ner", **options}
    bundle = BundleSection.model_validate({"name": "span-ner", "max_width": 4, "alpha": 0.3})
    assert bundle.model_dump() == {"name": "span-ner", "alpha": 0.3, **options}
    assert BundleSection.model_validate(bundle.model_dump()) == bundle


def test_recipes_are_equal_if_all_options_are_whether_given_or_left_out() -> None:
    explicit = find_model("seq-ner").Config().model_dump(mode="json")
    assert Recipe.parse(SMALL) == Recipe.parse({**SMALL, "model": {"name": "seq-ner", **explicit}})
    assert Recipe.parse(SMALL) != Recipe.parse(override(SMALL, ["model.tagging=crf"]))
    assert Recipe.parse(SMALL) != Recipe.parse(override(SMALL, ["bundle.name=span-ner"]))


@pytest.mark.parametrize("path", [*SHIPPED, None], ids=lambda path: path.stem if path else "own files")
def test_a_dumped_recipe_loads_as_the_same_recipe(path: Path | None, small: Path, tmp_path_factory: Any) -> None:
    recipe = Recipe.load(path or small, ["train.seed=3"])
    dumped = tmp_path_factory.mktemp("run") / "recipe.yaml"
    dumped.write_text(recipe.dump())
    assert Recipe.load(dumped) == recipe
    assert Recipe.load(dumped).dump() == recipe.dump()


def test_a_dumped_recipe_writes_out_every_option() -> None:
    dumped = yaml.safe_load(Recipe.parse(SMALL).dump())
    assert set(dumped) == {"encoder", "model", "bundle", "data", "train", "evaluation"}
    assert (dumped["train"]["epochs"], dumped["encoder"]["pooling"], dumped["model"]["tagging"]) == (
        10,
        "max",
        "softmax",
    )


def test_a_recipe_leaves_the_threshold_to_the_model() -> None:
    assert Recipe.parse(SMALL).evaluation == EvaluationSection(threshold=None)
