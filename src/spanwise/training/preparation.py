"""From a recipe to data and a pipeline, with every pairing that cannot work refused before weights are loaded."""

from __future__ import annotations

from dataclasses import dataclass

from spanwise.corpora import Corpus
from spanwise.corpora.mixture import Mixture, mix
from spanwise.corpora.selection import DESCRIPTIONS, Selection, select
from spanwise.errors import RecipeError
from spanwise.pipeline.adapters import check_peft
from spanwise.pipeline.blueprint import Blueprint
from spanwise.pipeline.encoders import load_pretrained
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.plural import counted
from spanwise.recipe import ModelSection, Recipe
from spanwise.schema import Schema
from spanwise.seam.traits import Traits
from spanwise.text.profile import rare_labels_notice

MANY_LABELS = ["multi_label", "nested"]  # options that let a model predict several labels of one span, the better first


@dataclass(frozen=True)
class PreparedRun:
    """What training starts from; `notices` are sentences that the user must see."""

    recipe: Recipe
    data: Selection | Mixture
    blueprint: Blueprint
    notices: tuple[str, ...]

    def pipeline(self) -> TorchPipeline:
        """Load the encoder and put a fresh model on it."""
        encoder = self.recipe.encoder
        return TorchPipeline(self.blueprint, self.data.schema, *load_pretrained(encoder.name, encoder.layers))


def prepare(recipe: Recipe, corpus: Corpus | None = None) -> PreparedRun:
    """Check recipe and data against each other and resolve what the recipe leaves open."""
    if recipe.encoder.adapter is not None:
        check_peft()
    traits = recipe.model.config.traits()
    data: Selection | Mixture
    if corpus is None and recipe.data.corpora:
        _check_open(recipe)
        data = mix(recipe.data, seed=recipe.train.seed)
    else:
        data = select(recipe.data, seed=recipe.train.seed, corpus=corpus)
    notices = [sentence for part in data.parts for sentence in part.report.sentences()]
    if isinstance(data, Selection) and _overlaps_too_much(data, traits):
        data, notice = _flattened(data, recipe, traits)
        notices.append(notice)
    for section in (recipe.model, recipe.bundle):
        if section is not None:
            _check_descriptions(section, data.schema)
    if rare := data.profile.rare_labels():
        notices.append(rare_labels_notice(rare))
    blueprint = Blueprint.from_recipe(recipe, data.profile)
    for fitted in blueprint.sections:
        notices += fitted.config.notices(data.profile)
    return PreparedRun(recipe, data, blueprint, tuple(notices))


def _check_open(recipe: Recipe) -> None:
    """Refuse several corpora for a model that has one output per label, or that is one of two."""
    traits = recipe.model.config.traits()
    if not (traits.open_labels and traits.independent) or traits.relations or recipe.bundle is not None:
        raise RecipeError(
            f"data.corpora needs a span model with open labels and no bundle, not this {recipe.model.name}; take "
            f"span-ner, dspert or biaffine with model.scorer: names."
        )


def _overlaps_too_much(data: Selection, traits: Traits) -> bool:
    """Whether training entities overlap in a way that the model cannot learn."""
    if traits.independent:
        return False
    shared = data.profile.shared_entities > 0 and not traits.multi_label
    return not traits.nested and (data.profile.nested or shared)


def _flattened(data: Selection, recipe: Recipe, traits: Traits) -> tuple[Selection, str]:
    """The data with flat training entities, and what that costs; refused unless the recipe asks for it."""
    if recipe.data.overlaps == "refuse":
        nested = data.profile.nested
        kind, switches = ("nested entities", ["nested"]) if nested else ("spans with several labels", MANY_LABELS)
        switch = next((name for name in switches if name in type(recipe.model.config).model_fields), None)
        fix = f"set model.{switch}: true" if switch else "choose a model that can (see `spanwise models`)"
        raise RecipeError(
            f"the training data of {data.name!r} has {kind}, which this {recipe.model.name} does not "
            f"predict; {fix}, or set data.overlaps: outermost to train on the outermost ones."
        )
    flat, entities, relations = data.flattened(keep_shared=traits.multi_label)
    also = f", and {relations:,} of their relations" if relations and traits.relations else ""
    lost = counted(entities, "training entity lies", "training entities lie")
    dropped = "is dropped" if entities == 1 else "are dropped"
    return flat, f"{lost} inside another entity and {dropped}{also} (data.overlaps: outermost)."


def _check_descriptions(section: ModelSection, schema: Schema) -> None:
    if section.config.traits().label_texts == "descriptions" and (silent := schema.missing_descriptions):
        raise RecipeError(
            f"{section.name} needs label descriptions, and {', '.join(silent)} "
            f"{'have' if len(silent) > 1 else 'has'} none; write them into {DESCRIPTIONS} beside the training "
            f"file, or under data.descriptions in the recipe."
        )
