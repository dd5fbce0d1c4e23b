"""The recipe of a run: a validated YAML file with the sections encoder, model, bundle, data, train and evaluation."""

from __future__ import annotations

from spanwise.corpora.options import DataOptions, Descriptions
from spanwise.recipe.parsing import RECIPE, RECIPES, find_recipe, override, shipped_recipes
from spanwise.recipe.sections import (
    BundleSection,
    EncoderConfig,
    EvaluationSection,
    LabelSampling,
    ModelSection,
    Recipe,
    TrainSection,
)

__all__ = [
    "RECIPE",
    "RECIPES",
    "BundleSection",
    "DataOptions",
    "Descriptions",
    "EncoderConfig",
    "EvaluationSection",
    "LabelSampling",
    "ModelSection",
    "Recipe",
    "TrainSection",
    "find_recipe",
    "override",
    "shipped_recipes",
]
