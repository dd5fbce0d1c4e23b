"""A suite: variants of shipped recipes, their settings per corpus, and the paper's figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from spanwise.errors import RecipeError
from spanwise.recipe import RECIPES, Recipe, find_recipe, override

SUITES = RECIPES / "suites"
Assignments = dict[str, Any]


class Variant(BaseModel):
    """A shipped recipe and what is different about it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str
    set: Assignments = {}
    paper: str | None = None  # the name of the paper's figures, where it is not the variant's own


class Suite(BaseModel):
    """What a benchmark runs: variants, settings per corpus, and the paper's figures (P, R, F1) where it has any."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    settings: str | None = None  # the suite whose settings per corpus hold here too
    variants: dict[str, Variant]
    corpora: dict[str, Assignments] = {}
    paper: dict[str, dict[str, tuple[float, float, float]]] = {}

    @classmethod
    def load(cls, name: str) -> Suite:
        path = SUITES / f"{name}.yaml"
        if not path.is_file() or path.parent != SUITES:
            raise RecipeError(f"there is no suite {name!r}; there are {', '.join(names())}.")
        suite = cls.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        return suite.model_copy(update={"corpora": cls.load(suite.settings).corpora}) if suite.settings else suite

    def recipe(self, variant: str, corpus: str, seed: int, assignments: Sequence[str] = ()) -> Recipe:
        """The variant's recipe with the corpus' settings, then the variant's own, then the user's."""
        chosen = self.variants[variant]
        data = yaml.safe_load(find_recipe(chosen.recipe).read_text(encoding="utf-8"))
        settings = {**self.corpora.get(corpus, {}), **chosen.set, "data.corpus": corpus, "train.seed": seed}
        written = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
        return Recipe.parse(override(data, [*written, *assignments]), f"suite variant {variant!r}")


def names() -> list[str]:
    return sorted(path.stem for path in SUITES.glob("*.yaml"))
