"""Access to what a model computes inside: its span vectors, and its attention over label texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from spanwise.errors import InputError
from spanwise.inference.extractor import Extractor

if TYPE_CHECKING:
    from spanwise.pipeline.torch_runner import TorchRunner

Trait = Literal["span_vectors", "label_attention"]
_MISSING = {
    "span_vectors": "no span vectors that a linear classifier reads",
    "label_attention": "no attention over label texts",
}


def runner_with(extractor: Extractor, trait: Trait) -> TorchRunner:
    """The extractor's runner, if its model has the trait."""
    from spanwise.pipeline.torch_pipeline import TorchPipeline

    reader = extractor.pipeline.reader
    if not getattr(reader.traits, trait):
        raise InputError(
            f"this {reader.name} model has {_MISSING[trait]}; train one of the models that do: {_models_with(trait)}."
        )
    if not isinstance(extractor.pipeline, TorchPipeline):
        raise InputError("this model does not run on PyTorch; give the folder of the model that was exported.")
    return extractor.pipeline.torch_runner


def _models_with(trait: Trait) -> str:
    """The models that have the trait with their default options."""
    from spanwise.seam.registry import find_model, model_names

    return ", ".join(name for name in model_names() if getattr(find_model(name).Config().traits(), trait))
