"""A model under test: its options, data that fits its traits, a trained and a random instance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from spanwise import runtime
from spanwise.corpora import Corpus
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.blueprint import Blueprint
from spanwise.pipeline.encoders import load_pretrained
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import Recipe
from spanwise.seam.registry import find_model
from spanwise.seam.traits import Traits
from spanwise.testing.samples import (
    FLAT,
    FLAT_LINKS,
    NESTED,
    NESTED_LINKS,
    sample_corpus,
    tiny_encoder,
    with_shared_spans,
)
from spanwise.text.alignment import align
from spanwise.text.profile import profile
from spanwise.training.reporting import EpochReport, NullListener
from spanwise.training.run import train

Options = Mapping[str, Any]
OVERFIT: Options = {"epochs": 80, "batch_size": 2, "encoder_lr": 3e-3, "task_lr": 1e-2}


@dataclass(frozen=True)
class Case:
    """One configuration of a model. `overfit` overrides settings of the training run that must end without errors."""

    model: str
    folder: Path  # for all files that are written
    options: Options = field(default_factory=dict)
    bundle: Options | None = None
    overfit: Options = field(default_factory=dict)

    def __str__(self) -> str:
        bundle = [f"with {self.bundle['name']}"] if self.bundle else []
        return " ".join([self.model, *bundle, *(f"{key}={value}" for key, value in self.options.items())])

    @cached_property
    def traits(self) -> Traits:
        return self.recipe().model.config.traits()

    @cached_property
    def encoder(self) -> Path:
        folder = self.folder / "encoder"
        return folder if folder.exists() else tiny_encoder(folder)

    @cached_property
    def corpus(self) -> Corpus:
        """Eight sentences, with nested entities, shared spans and relations if the model predicts these."""
        sentences, links = (NESTED, NESTED_LINKS) if self.traits.nested else (FLAT, FLAT_LINKS)
        if self.traits.multi_label:
            sentences = with_shared_spans(sentences)
        return sample_corpus(
            "nested" if self.traits.nested else "flat", sentences, links if self.traits.relations else None
        )

    def recipe(
        self, options: Options | None = None, *, train: Options | None = None, encoder: str | None = None
    ) -> Recipe:
        sections: dict[str, Any] = {
            "encoder": {"name": encoder or str(self.encoder)},
            "model": {"name": self.model, **self.options, **(options or {})},
            "bundle": self.bundle,
            "data": {"corpus": "demo"},
            "train": dict(train or {}),
        }
        return Recipe.parse(sections)

    @cached_property
    def trained(self) -> Path:
        """The folder of a run that overfits the corpus, without dropout, which would prevent overfitting."""
        folder = self.folder / "trained"
        still = {"dropout": 0.0} if "dropout" in find_model(self.model).Config.model_fields else {}
        with suppress(_NoErrors):
            train(self.recipe(still, train={**OVERFIT, **self.overfit}), folder, _UntilNoErrors(), self.corpus)
        return folder

    @cached_property
    def extractor(self) -> Extractor:
        return Extractor.from_pretrained(self.trained)

    @cached_property
    def random(self) -> TorchPipeline:
        """An untrained model with predictions all over the text, unlike a trained one. Uses the first such seed."""
        fields = find_model(self.model).Config.model_fields
        narrow = {"max_width": 2} if self.traits.relations and "max_width" in fields else {}
        documents = self.corpus.splits["train"]
        for seed in range(1, 50):
            pipeline = self.pipeline(seed, narrow)
            found = pipeline.predict(documents)
            entities, relations = (sum(len(getattr(d, kind)) for d in found) for kind in ("entities", "relations"))
            if entities > len(documents) and (relations > len(documents) or not self.traits.relations):
                break
        return pipeline

    def pipeline(self, seed: int = 1, options: Options | None = None) -> TorchPipeline:
        """An untrained model without priors against labels, so that every label is about as likely as not."""
        import torch

        recipe = self.recipe(options)
        blueprint = Blueprint.from_recipe(recipe, profile(map(align, self.corpus.splits["train"])))
        with torch.random.fork_rng():
            runtime.seed_step(seed)
            pipeline = TorchPipeline(
                blueprint, self.corpus.schema, *load_pretrained(recipe.encoder.name, recipe.encoder.layers)
            )
            for name, parameter in pipeline.model.named_parameters():
                if name.endswith("bias") and parameter.requires_grad and (parameter < -2).all():
                    torch.nn.init.zeros_(parameter)  # with this prior, an untrained model predicts nothing
        pipeline.model.eval()
        return pipeline


class _NoErrors(Exception):  # noqa: N818
    """Raised to end training when the model makes no errors on dev."""


class _UntilNoErrors(NullListener):
    """Ends a run as soon as its folder holds a model without errors on dev."""

    def epoch(self, report: EpochReport) -> None:
        if report.dev is not None and report.dev.f1 == 1:
            raise _NoErrors


def cases(
    model: str,
    folder: Path,
    options: Options | None = None,
    bundle: Options | None = None,
    overfit: Options | None = None,
) -> Iterator[Case]:
    """The model with these options, then also with `nested` on and with `multi_label` on if it has these options."""
    fields, given = find_model(model).Config.model_fields, dict(options or {})
    switches = [name for name in ("nested", "multi_label") if name in fields.keys() - given]
    for number, switch in enumerate((None, *switches)):
        place = folder / f"{model}-{number}"
        place.mkdir(parents=True, exist_ok=True)
        yield Case(model, place, given if switch is None else {**given, switch: True}, bundle, dict(overfit or {}))
