"""Parameter groups and the learning rate over time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import TrainSection
from spanwise.training.optimization import optimizer_for, set_learning_rate

OPTIONS = TrainSection(encoder_lr=1e-4, task_lr=1e-3, weight_decay=0.05)
EMBEDDINGS = "encoder.transformer.embeddings.word_embeddings.weight"


def groups_of(pipeline: TorchPipeline) -> dict[str, tuple[float, float]]:
    """Learning rate and decay of every parameter that learns, by name; a parameter in two groups would be an error."""
    names = {id(parameter): name for name, parameter in pipeline.model.named_parameters()}
    found: dict[str, tuple[float, float]] = {}
    for group in optimizer_for(pipeline.model, OPTIONS).param_groups:
        for parameter in group["params"]:
            assert names[id(parameter)] not in found
            found[names[id(parameter)]] = (group["lr"], group["weight_decay"])
    return found


@pytest.fixture(scope="module")
def bundled(make_pipeline: Callable[..., TorchPipeline]) -> TorchPipeline:
    return make_pipeline("span-ner", bundle={"name": "seq-ner", "tagging": "crf"})


def test_every_parameter_learns_once(bundled: TorchPipeline) -> None:
    assert set(groups_of(bundled)) == {name for name, _ in bundled.model.named_parameters()}


def test_the_transformer_learns_at_its_own_rate_and_all_else_at_the_task_rate(bundled: TorchPipeline) -> None:
    rates = {name: rate for name, (rate, _) in groups_of(bundled).items()}
    assert {rate for name, rate in rates.items() if ".transformer." in name} == {1e-4}
    assert {rate for name, rate in rates.items() if ".transformer." not in name} == {1e-3}
    assert rates["encoder.shapes.weight"] == 1e-3


def test_biases_and_norms_do_not_decay_and_all_else_does(bundled: TorchPipeline) -> None:
    decays = {name: decay for name, (_, decay) in groups_of(bundled).items()}
    still = {name for name in decays if name.endswith(".bias") or "LayerNorm" in name}
    assert any("LayerNorm.weight" in name for name in still)
    assert {decays[name] for name in still} == {0.0}
    assert {decays[name] for name in set(decays) - still} == {0.05}


def test_frozen_embeddings_are_in_no_group(make_pipeline: Callable[..., TorchPipeline]) -> None:
    free, frozen = make_pipeline("seq-ner"), make_pipeline("seq-ner", encoder={"freeze_embeddings": True})
    assert set(groups_of(free)) - set(groups_of(frozen)) == {EMBEDDINGS}


@pytest.mark.parametrize(
    ("warmup", "rates"),
    [
        (0.2, [1.0, 2.0, 2.0, 1.75, 1.5, 1.25, 1.0, 0.75, 0.5, 0.25]),
        (0.0, [2.0, 2.0, 1.7778, 1.5556, 1.3333, 1.1111, 0.8889, 0.6667, 0.4444, 0.2222]),
        (0.5, [0.4, 0.8, 1.2, 1.6, 2.0, 2.0, 1.6, 1.2, 0.8, 0.4]),
    ],
)
def test_the_rate_rises_to_its_peak_and_falls_to_nought(warmup: float, rates: list[float]) -> None:
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([{"params": [parameter], "lr": 2.0, "peak_lr": 2.0}])
    found = []
    for step in range(11):
        set_learning_rate(optimizer, step, 10, warmup)
        found.append(optimizer.param_groups[0]["lr"])
    assert found == pytest.approx([*rates, 0.0], abs=1e-4)


def test_the_rate_falls_to_the_share_that_is_left_for_training_on() -> None:
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([{"params": [parameter], "lr": 2.0, "peak_lr": 2.0}])
    found = []
    for step in (0, 2, 6, 10):
        set_learning_rate(optimizer, step, 10, 0.2, final=0.5)
        found.append(optimizer.param_groups[0]["lr"])
    assert found == pytest.approx([1.0, 2.0, 1.5, 1.0])


def test_groups_keep_their_ratio_over_time(bundled: TorchPipeline) -> None:
    optimizer = optimizer_for(bundled.model, OPTIONS)
    set_learning_rate(optimizer, 7, 10, 0.1)
    assert {round(group["lr"] / group["peak_lr"], 9) for group in optimizer.param_groups} == {round(3 / 9, 9)}
