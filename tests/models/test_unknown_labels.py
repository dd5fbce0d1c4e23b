"""A label that a document was not annotated for is unknown there, not negative: it has no influence on the loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from model_batches import batch_of
from spanwise.corpora import Corpus
from spanwise.decoding.pointers import MatchScores, PointerScores
from spanwise.decoding.spans import ScreeningScores, SpanScores
from spanwise.decoding.tags import TagScores
from spanwise.document import Document
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.seam.batch import Batch
from spanwise.seam.module import Output, Rescored
from spanwise.text.examples import ANNOTATED

MULTI: dict[str, Any] = {"multi_label": True}
NESTED: dict[str, Any] = {"nested": True}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in ("span-ner", "spert", "span", "dspert", "biaffine", "seq-ner", "lear", "qa")},
    **{f"{name}-multi-label": (name, MULTI) for name in ("span-ner", "spert", "span", "stsn", "dspert", "biaffine")},
    "stsn": ("stsn", {"double_tags": (("B-Organization", "B-Place"), ("B-Person", "I-Person"))}),
    "dspert-screened": ("dspert", {"screening_threshold": 0.5}),
    "dspert-screened-sample": ("dspert", {"screening_threshold": 0.5, "negatives": 9}),
    "seq-ner-crf": ("seq-ner", {"tagging": "crf"}),
    "traditional": ("traditional", {}),
    "traditional-nested": ("traditional", NESTED),
    "lear-nested-mlp": ("lear", {"matcher": "mlp", **NESTED}),
}
UNKNOWN_LOGIT = 0  # Organization, in the first document


class Case:
    """What a model makes of documents of which the first was not annotated for one label; every score is a leaf."""

    def __init__(self, pipeline: TorchPipeline, batch: Batch[Tensor]) -> None:
        self.model: Any = pipeline.model
        self.batch = batch
        torch.manual_seed(0)
        with torch.no_grad():
            output = self.model(batch)
            if hasattr(self.model, "matcher"):
                output = output._replace(features=bolder(output.features))
            rows = self.model.training_rows(output, batch)
            second = None if rows is None else Rescored(rows, self.model.rescore(output.features, rows))
        self.rows = rows
        tags = getattr(output.features, "tags", None)
        self.tensors = {f"first {name}": tensor for name, tensor in output.scores._asdict().items()}
        self.tensors |= {} if tags is None else {"tags": tags}
        self.tensors |= {} if second is None else {f"second {n}": t for n, t in second.scores._asdict().items()}
        self._output, self._second = output, second

    def loss(self, tensors: dict[str, Tensor], *, annotated: bool = False) -> Tensor:
        """From other scores; with `annotated`, as if every document had been annotated for all labels."""
        batch, output, second = self.batch, self._output, self._second
        if annotated:
            gold = batch.require_gold()
            batch = replace(batch, gold=replace(gold, annotated=torch.ones_like(gold.annotated)))
        own = {name.removeprefix("first "): t for name, t in tensors.items() if name.startswith("first ")}
        output = Output(output.scores._replace(**own), output.features)
        if "tags" in tensors:
            output = Output(output.scores, output.features._replace(tags=tensors["tags"]))
        if second is not None:
            own = {name.removeprefix("second "): t for name, t in tensors.items() if name.startswith("second ")}
            second = second._replace(scores=second.scores._replace(**own))
        total: Tensor = self.model.loss(output, second, batch).total
        return total

    def gradients(self, *, annotated: bool = False) -> dict[str, Tensor]:
        leaves = {name: tensor.clone().requires_grad_() for name, tensor in self.tensors.items()}
        found = torch.autograd.grad(self.loss(leaves, annotated=annotated), list(leaves.values()), allow_unused=True)
        return {
            name: torch.zeros_like(leaves[name]) if gradient is None else gradient
            for name, gradient in zip(leaves, found, strict=True)
        }

    def unknown(self) -> dict[str, Tensor]:
        """Where in each tensor the scores of the unknown label are; nowhere, in tensors that are not about labels."""
        masks = {name: torch.zeros_like(tensor, dtype=torch.bool) for name, tensor in self.tensors.items()}
        for name, place in self._places():
            masks[name][place] = True
        return masks

    def _places(self) -> Iterator[tuple[str, Any]]:
        spans, labels = self.batch.proposals.spans, self.batch.proposals.labels
        column = UNKNOWN_LOGIT + (not getattr(self.model.config, "multi_label", False))
        first = self._output.scores
        if isinstance(first, SpanScores):
            yield "first logits", (spans[:, 0] == 0, column)
        if isinstance(first, ScreeningScores) and len(first.screening):  # any label may be the unknown one
            yield "first screening", (spans[:, 0] == 0) & ~labels.any(-1)
        if isinstance(first, PointerScores):
            yield from ((name, (0, slice(None), UNKNOWN_LOGIT)) for name in ("first start", "first end"))
        if isinstance(first, TagScores):
            yield "first emissions", (0, slice(None), slice(1 + 2 * UNKNOWN_LOGIT, 3 + 2 * UNKNOWN_LOGIT))
        if self._second is not None and isinstance(self._second.scores, SpanScores):
            yield "second logits", (self.rows.spans[:, 0] == 0, column)
        if self._second is not None and isinstance(self._second.scores, MatchScores):
            length = first.start.shape[1]
            yield "second logits", self.rows.cells // length**2 == UNKNOWN_LOGIT  # of the first document
        if "tags" in self.tensors:
            names = ["O", *(f"{p}-{name}" for name in self.model.schema.entity_names for p in "BI")]
            names += ["/".join(pair) for pair in self.model.config.double_tags]
            yield "tags", (0, slice(None), [at for at, name in enumerate(names) if "Organization" in name])


def bolder(features: Any) -> Any:
    """Pairs of words with scores around one half, so that many of them are looked at."""
    generator = torch.Generator().manual_seed(2)
    return type(features)(*(torch.randn(part.shape, generator=generator) for part in features))


@pytest.fixture(scope="module")
def documents(flat_corpus: Corpus) -> tuple[Document, ...]:
    first, *others = flat_corpus.splits["train"]
    assert "Organization" not in {entity.label for entity in first.entities}
    return (replace(first, metadata={ANNOTATED: ["Person", "Place"]}), *others)


@pytest.fixture(scope="module", params=VARIANTS)
def case(
    request: pytest.FixtureRequest, make_pipeline: Callable[..., TorchPipeline], documents: tuple[Document, ...]
) -> Case:
    name, options = VARIANTS[request.param]
    pipeline = make_pipeline(name, **options)
    batch = batch_of(pipeline, documents, np.random.default_rng(0))
    assert batch.require_gold().annotated.tolist() == [[False, True, True]] + [[True] * 3] * (batch.size - 1)
    return Case(pipeline, batch)


def test_scores_of_an_unknown_label_have_no_gradient(case: Case) -> None:
    """They would have one, had the document been annotated for it; and all others have one."""
    found, annotated, masks = case.gradients(), case.gradients(annotated=True), case.unknown()
    about_labels = [name for name, mask in masks.items() if mask.any()]
    assert about_labels
    for name in about_labels:
        assert (found[name][masks[name]] == 0).all()
        assert annotated[name][masks[name]].abs().max() > 0
        assert found[name][~masks[name]].abs().max() > 0


def test_other_scores_of_an_unknown_label_leave_the_loss_as_it_is(case: Case) -> None:
    generator = torch.Generator().manual_seed(1)
    changed = {}
    for name, mask in case.unknown().items():
        noise = 5 * torch.randn(mask.shape, generator=generator)
        changed[name] = torch.where(mask, case.tensors[name] + noise, case.tensors[name])
    assert case.loss(changed) == case.loss(case.tensors)
    assert case.loss(changed, annotated=True) != case.loss(case.tensors, annotated=True)


def test_a_document_that_was_annotated_for_nothing_teaches_nothing(
    make_pipeline: Callable[..., TorchPipeline], flat_corpus: Corpus
) -> None:
    """Of tags and of labels of spans, only None is left, which is certain."""
    bare = [replace(d.with_annotations(), metadata={ANNOTATED: []}) for d in flat_corpus.splits["train"]]
    for name, options in (("span-ner", {}), ("biaffine", {}), ("traditional", {}), ("seq-ner", {"tagging": "crf"})):
        pipeline = make_pipeline(name, **options)
        loss = pipeline.model.training_loss(batch_of(pipeline, bare, np.random.default_rng(0))).total
        if name == "seq-ner":
            assert loss.item() == pytest.approx(0, abs=1e-4)
        else:
            assert loss.item() == 0
