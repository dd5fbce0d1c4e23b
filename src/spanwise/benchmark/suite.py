"""A suite: variants of shipped recipes, settings per corpus, table columns and the paper's figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, model_validator

from spanwise.errors import RecipeError
from spanwise.recipe import RECIPES, Recipe, find_recipe, override
from spanwise.recipe.parsing import anchored

SUITES = RECIPES / "suites"
Assignments = dict[str, Any]
Files = Mapping[str, Sequence[Path]]  # of each split


class Variant(BaseModel):
    """A shipped recipe and the settings that the variant changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str
    set: Assignments = {}
    paper: str | None = None  # name of the paper's figures, if it is not the variant's name


class Asked(BaseModel):
    """What a suite records of its models, besides scores and predictions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    representations: bool = False  # statistics of span vectors (DSpERT, section 5)
    attention: str | None = None  # a text, and its attention over the label descriptions (LEAR, Figure 2)


class Suite(BaseModel):
    """The definition of a benchmark. `paper` holds the published figures by corpus, variant and column."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    settings: str | None = None  # another suite whose settings per corpus are used
    results: str | None = None  # the folder of its results, where suites share runs; default: its name
    variants: dict[str, Variant]
    corpora: dict[str, Assignments] = {}
    columns: dict[str, str] = {  # paths in a result
        "P": "entities.micro.precision",
        "R": "entities.micro.recall",
        "F1": "entities.micro.f1",
    }
    split: Literal["test", "dev"] = "test"  # the split to score on; papers score ablations on dev
    best_by: str = "F1"  # the column that ranks runs
    asked: Asked = Asked()
    compare: tuple[tuple[str, str], ...] = ()  # pairs of variants whose difference is tested
    paper: dict[str, dict[str, dict[str, float]]] = {}

    @model_validator(mode="after")
    def _known_names(self) -> Suite:
        named = [self.best_by, *(name for of in self.paper.values() for row in of.values() for name in row)]
        for known, names in ((self.columns, named), (self.variants, [name for pair in self.compare for name in pair])):
            if unknown := [name for name in names if name not in known]:
                raise ValueError(f"unknown name {unknown[0]!r}; choose from {', '.join(known)}")
        return self

    @classmethod
    def load(cls, name: str) -> Suite:
        path = SUITES / f"{name}.yaml"
        if not path.is_file() or path.parent != SUITES:
            raise RecipeError(f"unknown suite {name!r}; choose from {', '.join(names())}.")
        suite = cls.model_validate(_parsed(path.read_text(encoding="utf-8")))
        return suite.model_copy(update={"corpora": cls.load(suite.settings).corpora}) if suite.settings else suite

    def recipe(
        self, variant: str, corpus: str, seed: int, assignments: Sequence[str] = (), files: Files | None = None
    ) -> Recipe:
        """The variant's recipe, overridden by the settings of the corpus, then the variant's own, then the user's.

        With `files` the data are the user's own, and `corpus` is only their name.
        """
        chosen = self.variants[variant]
        data = deepcopy(_parsed(find_recipe(chosen.recipe).read_text(encoding="utf-8")))
        settings = {**self.corpora.get(base(corpus), {}), **chosen.set, **_source(corpus, files), "train.seed": seed}
        written = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
        recipe = Recipe.parse(override(data, [*written, *assignments]), f"suite variant {variant!r}")
        return recipe.model_copy(update={"data": anchored(recipe.data, Path.cwd(), ())})

    def figures(self, variant: str, corpus: str) -> Mapping[str, float]:
        """The paper's figures by column."""
        return self.paper.get(base(corpus), {}).get(self.variants[variant].paper or variant, {})


@lru_cache(maxsize=256)
def _parsed(content: str) -> Any:
    """The content of a YAML file; a list of all tables reads the same files hundreds of times."""
    return yaml.safe_load(content)


def _source(corpus: str, files: Files | None) -> Assignments:
    """Which data a recipe names."""
    if files is None:
        return {"data.corpus": corpus}
    named = {f"data.{split}": [str(path) for path in paths] for split, paths in files.items()}
    return {"data.corpus": None, **named}


def base(corpus: str) -> str:
    """The corpus of a fold: "ade" for "ade/0"."""
    return corpus.partition("/")[0]


def names() -> list[str]:
    return sorted(path.stem for path in SUITES.glob("*.yaml"))
