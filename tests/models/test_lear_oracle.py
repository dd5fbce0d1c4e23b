"""LEAR, and the traditional and the QA formalization, against equations 1 to 9 as loops: every variant, one batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import lear_oracle as paper
import pointer_cases as cases
import pytest
import torch
from torch import Tensor

from model_batches import at_least, predictions
from spanwise.decoding.pointers import CellRows
from spanwise.document import Document
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.seam.batch import Batch
from spanwise.seam.module import Output
from spanwise.text.alignment import word_spans

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}
THRESHOLDS = [0.0, 0.62, 0.5]
NESTED: dict[str, Any] = {"nested": True, "pointer_weight": 0.3, "match_weight": 0.7}
MATCHING: dict[str, dict[str, Any]] = {
    "flat": {},
    "nearest": {"matching": "nearest"},
    "nested": NESTED,
    "nested-mlp": {**NESTED, "matcher": "mlp"},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "names": {"knowledge": "names"},
    "embeddings": {"knowledge": "embeddings"},
    "average": {"fusion": "average"},
    "sentence": {"fusion": "sentence"},
    "shared": {"shared": True},
    "shared-nested-mlp": {"shared": True, "matcher": "mlp", **NESTED},
    "names-average-nested": {"knowledge": "names", "fusion": "average", **NESTED},
    "embeddings-sentence": {"knowledge": "embeddings", "fusion": "sentence"},
}
MODELS = ("lear", "traditional", "qa")
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"{model}-{how}": (model, options) for model in MODELS for how, options in MATCHING.items()},
    **{f"lear-{name}": ("lear", options) for name, options in VARIANTS.items()},
}


class Case(NamedTuple):
    """What a model makes of the batch, and what the paper makes of each sentence by itself."""

    pipeline: TorchPipeline
    model: Any
    batch: Batch[Tensor]
    output: Output[Any, Any]
    oracle: paper.Pointers
    wanted: list[paper.Scores]


def known(pipeline: TorchPipeline) -> list[paper.Described]:
    """The labels as LEAR reads them: their descriptions, or their names."""
    model: Any = pipeline.model
    texts = cases.LABELS if model.config.knowledge == "names" else cases.LABELS.values()
    return [paper.describe(model.encoder.transformer, pipeline.tokenizer, text) for text in texts]


def by_the_paper(pipeline: TorchPipeline, oracle: paper.Pointers) -> list[paper.Scores]:
    """Every sentence by itself: words as each label sees them, and the scores of these."""
    read = partial(paper.read, pipeline.model.encoder.transformer, pipeline.tokenizer)
    sentences = [document.word_texts for document in cases.corpus().splits["train"]]
    if pipeline.blueprint.model.name == "qa":
        return [oracle.scores([read(words, text) for text in cases.LABELS.values()]) for words in sentences]
    if isinstance(oracle, paper.LEAR):
        labels = known(pipeline)
        return [oracle.scores(oracle.fuse(read(words), labels)) for words in sentences]
    return [oracle.scores([read(words)] * len(cases.LABELS)) for words in sentences]


@pytest.fixture(scope="module")
def case(request: pytest.FixtureRequest, make_pipeline: Callable[..., TorchPipeline]) -> Case:
    name, options = SETTINGS[request.param]
    pipeline = cases.build(make_pipeline, name, **options)
    oracle = (paper.LEAR if name == "lear" else paper.Pointers)(pipeline.model)
    batch = cases.batch_of(pipeline)
    with torch.no_grad():
        output = pipeline.model(batch)
    return Case(pipeline, pipeline.model, batch, output, oracle, by_the_paper(pipeline, oracle))


def gold_of(document: Document) -> paper.Gold:
    names = list(cases.LABELS)
    spans = zip(word_spans(document), document.entities, strict=True)
    return {(*span, names.index(entity.label)) for span, entity in spans if span is not None}


every_setting = pytest.mark.parametrize("case", SETTINGS, indirect=True)
nested_settings = pytest.mark.parametrize(
    "case", [name for name, (_, options) in SETTINGS.items() if "nested" in options], indirect=True
)


@every_setting
def test_starts_and_ends_are_those_of_equations_1_to_8(case: Case) -> None:
    scores = case.output.scores
    assert scores.start.shape == scores.end.shape == (5, 10, 3)
    for row, wanted in enumerate(case.wanted):
        for found, one in ((scores.start, wanted.start), (scores.end, wanted.end)):
            length = len(one[0])
            torch.testing.assert_close(found[row, :length].T.double(), torch.tensor(one, dtype=torch.float64), **CLOSE)


@nested_settings
@torch.no_grad()
def test_matches_are_those_of_equation_9(case: Case) -> None:
    """Every pair of words of every sentence and label, asked for by its number."""
    for row, wanted in enumerate(case.wanted):
        for label, pairs in enumerate(wanted.match):
            words = range(len(pairs))
            cells = torch.tensor([((row * 3 + label) * 10 + i) * 10 + j for i in words for j in words])
            found = case.model.rescore(case.output.features, CellRows(cells)).logits.view(len(pairs), -1)
            torch.testing.assert_close(found.double(), torch.tensor(pairs, dtype=torch.float64), **CLOSE)


@every_setting
@torch.no_grad()
def test_the_loss_and_its_terms_are_those_of_section_3_4(case: Case) -> None:
    nested = case.model.config.nested
    documents = cases.corpus(nested=nested).splits["train"]
    wanted = case.oracle.loss([(one, gold_of(d)) for one, d in zip(case.wanted, documents, strict=True)])
    loss = case.model.training_loss(case.batch)
    found = {"total": loss.total.item(), **{name: term.item() for name, term in loss.terms.items()}}
    assert found == pytest.approx(wanted, abs=1e-5, rel=1e-5)
    assert len(found) == (4 if nested else 3)


@every_setting
def test_spans_and_their_scores_are_those_of_section_3_3(case: Case) -> None:
    found = predictions(case.pipeline, case.batch, at_least(*THRESHOLDS))
    assert sum(len(prediction.spans) for prediction in found) >= 5
    for prediction, scores in zip(found, case.wanted, strict=True):
        wanted = case.oracle.decode(scores, THRESHOLDS)
        spans = sorted(prediction.spans)
        assert [span[:3] for span in spans] == [span[:3] for span in wanted]
        assert [span.score for span in spans] == pytest.approx([span[3] for span in wanted], abs=1e-5)
