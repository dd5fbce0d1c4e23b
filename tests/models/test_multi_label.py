"""Several labels per span: what the classifiers give, and that two labels on one span are learned and predicted.

That losses and predictions are those of slow transcriptions is shown with each model's own oracle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from deep_cases import without_dropout

from model_batches import batch_of, gold_examples
from spanwise.corpora import Corpus
from spanwise.decoding.spans import SpanRows
from spanwise.document import Document
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import TrainSection
from spanwise.schema import EntityType, Schema
from spanwise.training.optimization import optimizer_for

LABELS = ("Person", "Official", "Place")
SENTENCES: tuple[tuple[str, list[tuple[int, int, str]]], ...] = (
    ("The mayor of Kell met Mara .", [(0, 4, "Person"), (0, 4, "Official"), (5, 6, "Person")]),
    ("Bo left Westmoor .", [(0, 1, "Person"), (2, 3, "Place")]),
    ("A judge saw Brenford .", [(0, 2, "Official"), (0, 2, "Person"), (3, 4, "Place")]),
    ("It rained .", []),
    ("Mara , the judge , smiled .", [(0, 1, "Person"), (2, 4, "Person"), (2, 4, "Official")]),
)
CORPUS = Corpus(
    "shared",
    {"train": tuple(Document.from_words(text.split(), entities) for text, entities in SENTENCES)},
    Schema(tuple(map(EntityType, LABELS))),
)
MODELS: dict[str, dict[str, Any]] = {
    "span-ner": {},
    "spert": {},
    "span": {},
    "stsn": {"layers": 1},
    "dspert": {},
    "biaffine": {},
}
Make = Callable[..., TorchPipeline]


def logits_of(pipeline: TorchPipeline) -> torch.Tensor:
    """Of the candidates of a training batch, whichever stage gives them."""
    model: Any = pipeline.model
    batch = batch_of(pipeline, CORPUS.splits["train"], np.random.default_rng(0))
    output = model(batch)
    if hasattr(output.scores, "logits"):
        return output.scores.logits
    return model.rescore(output.features, SpanRows(batch.proposals.spans)).logits


@torch.no_grad()
@pytest.mark.parametrize("name", MODELS)
def test_each_label_has_a_score_of_its_own_and_none_has_not(make_pipeline: Make, name: str) -> None:
    one, several = (make_pipeline(name, CORPUS, multi_label=flag, **MODELS[name]) for flag in (False, True))
    assert logits_of(one).shape[1] == 1 + len(LABELS)
    assert logits_of(several).shape[1] == len(LABELS)
    assert (one.reader.traits.multi_label, several.reader.traits.multi_label) == (False, True)
    assert (one.threshold, several.threshold) == (0.0, 0.5)


@pytest.mark.parametrize("name", MODELS)
def test_a_span_with_two_labels_is_one_candidate_with_both(make_pipeline: Make, name: str) -> None:
    pipeline = make_pipeline(name, CORPUS, multi_label=True, **MODELS[name])
    batch = batch_of(pipeline, CORPUS.splits["train"], np.random.default_rng(0))
    spans = [tuple(span) for span in batch.proposals.spans.tolist()]
    assert len(spans) == len(set(spans))
    held = {span: labels for span, labels in zip(spans, batch.proposals.labels.tolist(), strict=True) if any(labels)}
    assert held[0, 0, 4] == held[2, 0, 2] == held[4, 2, 4] == [True, True, False]
    assert len(held) == 8


def overfit(pipeline: TorchPipeline, steps: int) -> None:
    model = pipeline.model.train()
    without_dropout(model)
    optimizer = optimizer_for(model, TrainSection(encoder_lr=2e-3, task_lr=1e-2))
    examples, rng = gold_examples(pipeline, CORPUS.splits["train"]), np.random.default_rng(0)
    for _ in range(steps):
        optimizer.zero_grad()
        model.training_loss(pipeline.training_batch(examples, rng).map(torch.from_numpy)).total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    pipeline.reset_runner()


def marked(document: Document) -> set[tuple[int, int, str]]:
    return {(entity.start, entity.end, entity.label) for entity in document.entities}


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_two_labels_of_one_span_are_learned_and_predicted(make_pipeline: Make, name: str, nested: bool) -> None:
    pipeline = make_pipeline(name, CORPUS, multi_label=True, nested=nested, **MODELS[name])
    documents = CORPUS.splits["train"]
    overfit(pipeline, steps=60)
    found = pipeline.predict(documents)
    assert [marked(document) for document in found] == [marked(document) for document in documents]
