"""Training on the easy corpus, with a listener that remembers what it heard."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise.recipe import Recipe
from spanwise.training.reporting import EpochReport, NullListener, StepReport
from spanwise.training.run import RunSummary, train


class Memory(NullListener):
    """Remembers what it heard; `at_step` and `at_epoch` may look at the run, or end it."""

    def __init__(
        self,
        at_step: Callable[[StepReport], None] = lambda report: None,
        at_epoch: Callable[[EpochReport], None] = lambda report: None,
    ) -> None:
        self.notices: list[str] = []
        self.steps: list[StepReport] = []
        self.at_step, self.at_epoch = at_step, at_epoch

    def notice(self, sentence: str) -> None:
        self.notices.append(sentence)

    def step(self, report: StepReport) -> None:
        self.steps.append(report)
        self.at_step(report)

    def epoch(self, report: EpochReport) -> None:
        self.at_epoch(report)


@pytest.fixture
def memory() -> type[Memory]:
    return Memory


@pytest.fixture
def train_easy(easy_recipe: Path) -> Callable[..., RunSummary]:
    """train_easy(folder, "train.seed=2", listener=...): the easy recipe with overrides, three epochs."""

    def run(folder: Path, *overrides: str, listener: Memory | None = None, **options: Any) -> RunSummary:
        return train(Recipe.load(easy_recipe, ["train.epochs=3", *overrides]), folder, listener, **options)

    return run


@pytest.fixture
def metrics() -> Callable[[Path], list[dict[str, Any]]]:
    """The lines of a run's metrics, without the time they took."""

    def read(folder: Path) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]

    return read
