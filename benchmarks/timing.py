"""Shared code of the speed benchmarks: models take turns at the same work in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import torch

from spanwise import runtime
from spanwise.document import Document
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.batches import training_batches
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import TrainSection
from spanwise.text.alignment import AlignedDocument, align
from spanwise.text.examples import Example
from spanwise.training.optimization import optimizer_for

Model = TypeVar("Model")
LONG = 20  # seconds; a task that takes longer runs once


def seconds(task: Callable[[], object]) -> float:
    began = time.perf_counter()
    task()
    return time.perf_counter() - began


def gold_examples(pipeline: TorchPipeline, documents: Iterable[AlignedDocument]) -> list[Example]:
    """The training examples of the documents."""
    build = pipeline.training_task.builder.gold_examples
    return [example for document in documents for example in build(document)[0]]


class Timed:
    """A model that reads documents and takes training steps on batches of them, built as in training."""

    def __init__(self, pipeline: TorchPipeline, documents: Sequence[Document], batch: int) -> None:
        self.pipeline = pipeline
        self.documents = list(documents)
        self.examples = gold_examples(pipeline, map(align, self.documents))
        rows = training_batches(self.examples, batch, np.random.default_rng(1))
        self.batches = [[self.examples[i] for i in batch] for batch in rows]
        self.optimizer = optimizer_for(pipeline.model, TrainSection())
        self.extractor = Extractor(pipeline)

    def read(self) -> None:
        self.extractor(self.documents)

    def steps(self) -> None:
        """Take one training step on each batch."""
        self.pipeline.model.train()
        for number, examples in enumerate(self.batches):
            batch = self.pipeline.training_batch(examples, runtime.seed_step(1, number))
            self.pipeline.model.training_loss(batch.map(torch.from_numpy)).total.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        self.pipeline.reset_runner()


def in_turn(
    models: Mapping[str, Model], task: Callable[[Model], object], repeats: int, baseline: str
) -> dict[str, dict[str, float]]:
    """Run each model once to warm up, then in turn `repeats` times. A long task needs no warm-up and runs once."""
    first = {name: seconds(lambda m=model: task(m)) for name, model in models.items()}
    times = {name: [took] if took > LONG else [] for name, took in first.items()}
    for _ in range(repeats):
        for name, model in models.items():
            if first[name] <= LONG:
                times[name].append(seconds(lambda m=model: task(m)))
    return {name: ratio(own, times[baseline]) for name, own in times.items()}


def ratio(times: Sequence[float], baseline: Sequence[float]) -> dict[str, float]:
    """Median, lowest and highest ratio to the baseline's time in the same turn, or to its median for a single time."""
    if len(times) == 1:
        baseline = [statistics.median(baseline)]
    each = [other / base for base, other in zip(baseline, times, strict=True)]
    shown = (statistics.median(each), min(each), max(each), statistics.median(times))
    return dict(zip(("ratio", "lowest", "highest", "seconds"), (round(n, 3) for n in shown), strict=True))
