"""Invented sentences for the models of starts and ends, and pipelines over them whose random weights say something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import model_batches
from spanwise.corpora import Corpus
from spanwise.document import Document
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.schema import EntityType, Schema
from spanwise.seam.batch import Batch

LABELS = {"Drug": "a pill", "Effect": "what it did to them, or did not", "Dose": "how much of it"}
FLAT = (
    ("the red pill of mara met a rash in it", [(1, 3, "Drug"), (4, 5, "Effect"), (6, 8, "Effect")]),
    ("pain", [(0, 1, "Effect")]),
    ("two of the pills", [(0, 1, "Dose"), (2, 4, "Drug")]),
    ("it rained in the univer", []),
    ("a gram of it , no more ,", [(0, 2, "Dose"), (3, 4, "Drug"), (5, 7, "Dose")]),
)
INSIDE = (
    [(2, 3, "Drug"), (1, 5, "Drug"), (4, 9, "Effect")],  # of the same label inside each other, or overlapping another
    [(0, 1, "Dose")],  # two labels on one span
    [(0, 4, "Drug"), (3, 4, "Drug")],
    [],
    [(0, 8, "Dose"), (1, 2, "Dose")],
)
SPREAD = {
    "project_words": 0.1,
    "project_labels": 0.1,
    "embedding": 1.0,
}  # of random weights: attention neither even nor on one token


def corpus(*, nested: bool = False, labels: dict[str, str] | None = None) -> Corpus:
    documents = tuple(
        Document.from_words(text.split(), [*entities, *(inside if nested else [])])
        for (text, entities), inside in zip(FLAT, INSIDE, strict=True)
    )
    return Corpus(
        "pointers", {"train": documents}, Schema(tuple(EntityType(*pair) for pair in (labels or LABELS).items()))
    )


def build(
    make_pipeline: Callable[..., TorchPipeline], model: str, *, labels: dict[str, str] | None = None, **options: Any
) -> TorchPipeline:
    """The model over the tiny encoder, its own weights drawn so that words differ and many are starts and ends."""
    given = corpus(nested=options.get("nested", False), labels=labels)
    pipeline = make_pipeline(model, given, encoder={"word_shapes": False}, **options)
    generator = torch.Generator().manual_seed(11)
    for name, parameter in pipeline.model.named_parameters():
        if not name.startswith("encoder."):
            nn.init.normal_(parameter, std=SPREAD.get(name.split(".")[0], 0.4), generator=generator)
    return pipeline


def batch_of(pipeline: TorchPipeline, given: Corpus | None = None) -> Batch[Tensor]:
    """All sentences in one padded batch, with their gold."""
    documents = (given or corpus(nested=pipeline.reader.traits.nested)).splits["train"]
    batch = model_batches.batch_of(pipeline, documents)
    assert batch.size == len(documents)
    return batch
