"""Measure the cost of a joint model relative to the same encoder with a tagging head, for training and inference.

    python benchmarks/joint_speed.py --corpus conll04 --models spert --epochs 3 --repeats 5

Both models train on the same batches in one process and take turns at every step. The output is the ratio of their
times for a training epoch, with its spread over epochs, and for inference on test. Inference is timed after training,
also in turn: an untrained model predicts entities everywhere and would be timed on pairs that do not occur in practice.
"""

from __future__ import annotations

import argparse
import json

import numpy as np
import torch

from spanwise import corpora, runtime
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.batches import training_batches
from spanwise.recipe import Recipe, find_recipe
from spanwise.training.optimization import optimizer_for
from spanwise.training.preparation import prepare
from spanwise.training.trainer import Objective
from timing import gold_examples, ratio, seconds

BASELINE = "seq-ner"


class Learner:
    """A model that takes training steps on given batches."""

    def __init__(self, name: str, corpus: str) -> None:
        settings = [f"data.corpus={corpus}", "train.batch_size=8"]
        self.recipe = Recipe.load(find_recipe(name), settings)
        runtime.seed_step(self.recipe.train.seed)
        prepared = prepare(self.recipe)
        self.pipeline = prepared.pipeline()
        self.objective = Objective(self.pipeline.model)
        self.optimizer = optimizer_for(self.pipeline.model, self.recipe.train)
        self.examples = gold_examples(self.pipeline, prepared.data.train)

    def step(self, batch: list[int], index: int) -> None:
        rng = runtime.seed_step(self.recipe.train.seed, index)
        tensors = self.pipeline.training_batch([self.examples[i] for i in batch], rng).map(torch.from_numpy)
        self.objective.train()
        self.objective(tensors).total.backward()
        torch.nn.utils.clip_grad_norm_(self.objective.parameters(), self.recipe.train.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()


def epoch(learners: list[Learner], number: int) -> list[float]:
    """The time of one epoch for each learner; they take turns at every step."""
    first = learners[0]
    batches = training_batches(first.examples, first.recipe.train.batch_size, np.random.default_rng(number))
    times = [0.0] * len(learners)
    for index, batch in enumerate(batches):
        for place, learner in enumerate(learners):
            times[place] += seconds(lambda learner=learner, b=batch, i=index: learner.step(b, i))
    return times


def compared(times: list[list[float]]) -> dict[str, float]:
    """The ratio of the second column's times to the first's."""
    base, own = zip(*times, strict=True)
    return ratio(own, base)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="conll04")
    parser.add_argument("--models", nargs="+", default=["spert"])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    result: dict[str, object] = {"corpus": options.corpus, "threads": runtime.set_threads()}
    test = [document.with_annotations() for document in corpora.load(options.corpus).split("test")]
    for name in options.models:
        learners = [Learner(BASELINE, options.corpus), Learner(name, options.corpus)]
        trained = [epoch(learners, number) for number in range(options.epochs)]
        extractors = [Extractor(learner.pipeline) for learner in learners]
        for extractor in extractors:
            extractor(test)
        read = [[seconds(lambda e=e: e(test)) for e in extractors] for _ in range(options.repeats)]
        result[name] = {"training epoch": compared(trained), "inference": compared(read)}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
