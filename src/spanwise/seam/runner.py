"""The runner interface: a runner takes batches and rows of numpy arrays and returns scores as numpy arrays."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from spanwise.seam.batch import Array, Batch
from spanwise.seam.decoder import Decoder, PredictedSpans, Prediction, ScoreThresholds

Arrays = tuple[Array, ...]


class StageOne(NamedTuple):
    """Scores as a named tuple of arrays; features in the runner's own format, for `rescore`."""

    scores: Arrays
    features: object


class Runner(Protocol):
    """The stages of one model on one backend. Runners are thread-safe."""

    def forward(self, batch: Batch[Array]) -> StageOne: ...

    def rescore(self, features: object, rows: Arrays) -> Arrays: ...


class SharedRunner:
    """A runner for one batch that is decoded several times; each stage runs once for the same rows."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._first: StageOne | None = None
        self._second: dict[bytes, Arrays] = {}

    def forward(self, batch: Batch[Array]) -> StageOne:
        if self._first is None:
            self._first = self.runner.forward(batch)
        return self._first

    def rescore(self, features: object, rows: Arrays) -> Arrays:
        key = b"".join(np.ascontiguousarray(array).tobytes() for array in rows)
        if key not in self._second:
            self._second[key] = self.runner.rescore(features, rows)
        return self._second[key]


def run_stages(
    runner: Runner,
    decoder: Decoder,
    batch: Batch[Array],
    thresholds: ScoreThresholds,
    given: PredictedSpans | None = None,
) -> list[Prediction]:
    """Run stage one, score its proposals in stage two, and decode both into one prediction per example."""
    first = runner.forward(batch)
    proposal = decoder.propose(first.scores, batch, thresholds, given)
    second = ((rows, runner.rescore(first.features, rows)) for rows in proposal.rows)
    return decoder.decode(proposal, second, batch, thresholds)
