"""Invented sentences for the models that classify every span, and these models over small encoders of any family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import dspert_oracle as paper
import numpy as np
import torch
from dspert_oracle import Span
from torch import Tensor, nn

import model_batches
import smoothing_oracle
from spanwise.corpora import Corpus
from spanwise.decoding.spans import SpanRows
from spanwise.document import Document
from spanwise.pipeline.blueprint import Blueprint
from spanwise.pipeline.encoders import remove_pooler
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import Recipe
from spanwise.schema import EntityType, Schema
from spanwise.seam.batch import Batch
from spanwise.text.profile import DataProfile
from spanwise.text.shapes import word_shape

LABELS = ("Drug", "Effect", "Dose")
WIDEST = 4
SENTENCES: tuple[tuple[str, list[tuple[int, int, str]]], ...] = (
    (
        "Mara of the RED univer met a rash in IT",
        # at both edges, as wide as can be, inside and across each other, and one that is too wide
        [(0, 1, "Drug"), (0, 4, "Dose"), (2, 4, "Dose"), (3, 6, "Effect"), (9, 10, "Effect"), (4, 9, "Drug")],
    ),
    ("Pain", [(0, 1, "Effect")]),
    ("two of the Pills", [(0, 1, "Dose"), (0, 1, "Drug"), (0, 4, "Drug"), (3, 4, "Drug")]),  # two labels on one span
    ("it rained in the univer", []),
    ("a gram of it , NO more ,", [(2, 3, "Drug"), (3, 4, "Drug"), (2, 4, "Dose"), (2, 4, "Effect"), (7, 8, "Dose")]),
)
LAYERS = 3
SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 98,
    "pad_token_id": 0,
    "initializer_range": 0.2,  # so that random vectors differ by far more than rounding
}
OWN: dict[str, dict[str, Any]] = {
    "Electra": {"embedding_size": 16},
    "RoFormer": {"embedding_size": 16},
    "Albert": {"embedding_size": 16},
    "Deberta": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "DebertaV2": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
}
Weights = dict[tuple[int, int, int], float]  # of (sentence, start, end)
Family = Callable[[int], Any]  # a random encoder of so many pieces


def encoder_of(family: str, pieces: int, **options: Any) -> Any:
    """A random encoder, such as BERT, by its name in transformers."""
    import transformers

    config = getattr(transformers, f"{family}Config")(vocab_size=pieces, **SMALL, **OWN.get(family, {}), **options)
    return getattr(transformers, f"{family}Model")(config)


class Builder:
    """Builds small models, their weights always the same and no two of them alike; `fresh`: as before training."""

    def __init__(self, make_recipe: Callable[..., Recipe], tokenizer: Any) -> None:
        self.make_recipe, self.tokenizer = make_recipe, tokenizer

    def __call__(
        self,
        model: str,
        family: str | Family = "Bert",
        *,
        fresh: bool = False,
        encoder: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> TorchPipeline:
        options = {"max_width": WIDEST, "nested": True, "hidden": 12, **options}
        recipe = self.make_recipe(model, encoder={"word_shapes": False, **(encoder or {})}, **options)
        blueprint = Blueprint.from_recipe(recipe, DataProfile())
        make = partial(encoder_of, family) if isinstance(family, str) else family
        with torch.random.fork_rng():
            torch.manual_seed(3)
            transformer = remove_pooler(make(len(self.tokenizer)))
            pipeline = TorchPipeline(blueprint, corpus().schema, transformer, self.tokenizer)
            if not fresh:
                _shake(pipeline.model)
        pipeline.model.eval()
        return pipeline


@torch.no_grad()
def _shake(model: nn.Module) -> None:
    for parameter in model.parameters():
        if parameter.requires_grad:  # not the angles of rotary positions
            parameter += 0.1 * torch.randn_like(parameter)


def without_dropout(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0


def corpus() -> Corpus:
    documents = tuple(Document.from_words(text.split(), entities) for text, entities in SENTENCES)
    return Corpus("deep", {"train": documents}, Schema(tuple(map(EntityType, LABELS))))


def batch_of(pipeline: TorchPipeline, *, training: bool = False) -> Batch[Tensor]:
    """All sentences in one padded batch with their gold; in training gold spans come first, once for each label."""
    batch = model_batches.batch_of(pipeline, corpus().splits["train"], np.random.default_rng(0) if training else None)
    assert batch.size == len(SENTENCES)
    return batch


@torch.no_grad()
def logits_of(pipeline: TorchPipeline, batch: Batch[Tensor], spans: Tensor | None = None) -> Tensor:
    """What a two-stage model makes of these spans, or of all of the batch."""
    model: Any = pipeline.model
    rows = SpanRows(batch.proposals.spans if spans is None else spans)
    logits: Tensor = model.rescore(model(batch).features, rows).logits
    return logits


@torch.no_grad()
def read(pipeline: TorchPipeline) -> list[paper.Sentence]:
    """The sentences as an oracle takes them."""
    encoder: Any = pipeline.model.encoder
    found = []
    for text, _ in SENTENCES:
        words = text.split()
        shapes = None if encoder.shapes is None else [encoder.shapes.weight[word_shape(word)] for word in words]
        found.append(paper.read(encoder.transformer, pipeline.tokenizer, words, shapes))
    return found


def gold_of(row: int) -> smoothing_oracle.Gold:
    return {(start, end, LABELS.index(label)) for start, end, label in SENTENCES[row][1]}


def in_order(spans: Tensor, rows: list[dict[Span, Tensor]]) -> Tensor:
    """What an oracle found for the spans of each sentence, in the order of a batch."""
    return torch.stack([rows[row][start, end] for row, start, end in spans.tolist()])


def loss_of(
    config: Any, batch: Batch[Tensor], logits: list[dict[Span, Tensor]], weights: Weights | None = None
) -> float:
    """Eq. 7, smoothed, over the spans of the batch, each weighted as `weights_of` or `weights` says."""
    options = (len(LABELS), config.smoothing, config.smoothing_distance)
    smoothed = smoothing_oracle.shares if config.multi_label else smoothing_oracle.targets
    targets = [smoothed(spans, gold_of(row), *options) for row, spans in enumerate(logits)]
    sentences: list[list[tuple[Tensor, list[float], float]]] = [[] for _ in SENTENCES]
    for (row, start, end), weight in (weights or weights_of(config, batch)).items():
        sentences[row].append((logits[row][start, end], targets[row][start, end], weight))
    return (paper.binary_loss if config.multi_label else paper.loss)(sentences)


def weights_of(config: Any, batch: Batch[Tensor]) -> Weights:
    """The spans of a batch, each once: gold ones count once, the others for all of their sentence that are not gold."""
    held = {(row, start, end) for row, start, end in batch.proposals.spans.tolist()}
    found = {}
    for row in range(len(SENTENCES)):
        gold = {(row, start, end) for start, end, _ in gold_of(row)}
        mine = {span for span in held if span[0] == row}
        length = int(batch.words.scored[row].sum())
        others = {(row, *span) for span in smoothing_oracle.possible(length, config.max_width)} - gold
        found |= {span: 1.0 if span in gold else len(others) / len(mine - gold) for span in mine}
    return found
