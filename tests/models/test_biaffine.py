"""The biaffine classifier against its formula, span by span."""

from __future__ import annotations

from typing import Any, NamedTuple

import deep_cases as cases
import dspert_oracle as paper
import pytest
import torch
from torch import Tensor

from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.seam.batch import Batch
from spanwise.seam.module import Output

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {"smoothing": 0.0},
    "smoothed": {},
    "smoothed-far": {"smoothing": 0.3, "smoothing_distance": 2},
    "wide": {"max_width": 12},
    "word-shapes": {"encoder": {"word_shapes": True}},
    "multi-label": {"multi_label": True},
    "multi-label-smoothed-far": {"multi_label": True, "smoothing": 0.6, "smoothing_distance": 2},
}


class Case(NamedTuple):
    """What the model makes of the batch, and what the formula makes of each sentence by itself."""

    model: Any
    batch: Batch[Tensor]
    output: Output[Any, Any]
    wanted: list[dict[paper.Span, Tensor]]


@pytest.fixture(scope="module", params=SETTINGS)
def case(request: pytest.FixtureRequest, build: cases.Builder) -> Case:
    pipeline = build("biaffine", **SETTINGS[request.param])
    batch = cases.batch_of(pipeline)
    oracle = paper.Biaffine(pipeline.model)
    with torch.no_grad():
        output = pipeline.model(batch)
    return Case(pipeline.model, batch, output, [oracle.score(sentence) for sentence in cases.read(pipeline)])


def test_candidates_are_all_spans_up_to_the_width(case: Case) -> None:
    wanted = [(row, *span) for row, spans in enumerate(case.wanted) for span in spans]
    assert [tuple(span) for span in case.batch.proposals.spans.tolist()] == wanted


def test_logits_are_those_of_the_formula(case: Case) -> None:
    wanted = cases.in_order(case.batch.proposals.spans, case.wanted)
    torch.testing.assert_close(case.output.scores.logits.double(), wanted, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_the_loss_is_smoothed_cross_entropy_summed_over_spans_and_averaged_over_sentences(case: Case) -> None:
    loss = case.model.loss(case.output, None, case.batch)
    wanted = cases.loss_of(case.model.config, case.batch, case.wanted)
    assert loss.total.item() == pytest.approx(wanted, rel=1e-5)
    assert loss.terms == {"spans": loss.total}


@torch.no_grad()
@pytest.mark.parametrize("multi_label", [False, True])
def test_sampled_negatives_are_as_many_as_asked_for_and_weighted_in_the_loss(
    build: cases.Builder, multi_label: bool
) -> None:
    pipeline = build("biaffine", negatives=3, multi_label=multi_label)
    model: Any = pipeline.model
    batch = cases.batch_of(pipeline, training=True)
    negatives = batch.proposals.spans[~batch.proposals.labels.any(-1)]
    assert negatives[:, 0].bincount().tolist() == [3, 0, 3, 3, 3]
    wanted = cases.loss_of(model.config, batch, [paper.Biaffine(model).score(one) for one in cases.read(pipeline)])
    assert model.training_loss(batch).total.item() == pytest.approx(wanted, rel=1e-5)


def test_every_weight_learns(build: cases.Builder) -> None:
    pipeline: TorchPipeline = build("biaffine")
    pipeline.model.training_loss(cases.batch_of(pipeline, training=True)).total.backward()
    gradients = {name: parameter.grad for name, parameter in pipeline.model.named_parameters()}
    still = [name for name, gradient in gradients.items() if gradient is None or gradient.abs().max() < 1e-4]
    assert [name for name in still if not name.endswith("key.bias")] == []  # it moves all scores of a query alike
