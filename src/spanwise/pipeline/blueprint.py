"""The options a model is built from, with nothing left open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from spanwise.pipeline.pipeline import Member
from spanwise.pipeline.stored import check_member
from spanwise.pipeline.tuning import Tuning
from spanwise.recipe import BundleSection, EncoderConfig, ModelSection, Recipe
from spanwise.schema import Schema
from spanwise.text.profile import DataProfile


@dataclass(frozen=True)
class Blueprint:
    """What `config.json` of a model folder holds; `reader` names the member of a bundle that makes the predictions."""

    encoder: EncoderConfig
    model: ModelSection
    bundle: BundleSection | None = None
    threshold: float | None = None  # lowest probability of an entity, where a call names none; None: the model's own
    reader: str | None = None  # None: `model`
    tuning: Mapping[str, Tuning] = field(default_factory=dict)  # by member

    @classmethod
    def from_recipe(cls, recipe: Recipe, profile: DataProfile) -> Blueprint:
        """The recipe's options, with every "auto" derived from the training data."""
        model, bundle = recipe.model, recipe.bundle
        return cls(
            recipe.encoder,
            model.model_copy(update={"config": model.config.fitted(profile)}),
            bundle and bundle.model_copy(update={"config": bundle.config.fitted(profile)}),
            recipe.evaluation.threshold,
        )

    @property
    def sections(self) -> tuple[ModelSection, ...]:
        """Of the model, and of its partner in a bundle."""
        return (self.model,) if self.bundle is None else (self.model, self.bundle)

    def members(self, schema: Schema) -> tuple[Member, ...]:
        return tuple(
            Member(
                s.name,
                s.config.traits(),
                s.config.proposer(schema),
                s.config.decoder(schema),
                self.tuning.get(s.name, Tuning()),
            )
            for s in self.sections
        )

    def with_reader(self, name: str | None) -> Blueprint:
        """The same with another member of the bundle as the reader."""
        if name is None:
            return self
        check_member(name, [section.name for section in self.sections])
        return replace(self, reader=name)
