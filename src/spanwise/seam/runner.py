"""Who computes: a runner takes batches and rows of numpy arrays and gives scores as numpy arrays."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from spanwise.seam.batch import Array, Batch
from spanwise.seam.decoder import Decoder, PredictedSpans, Prediction, ScoreThresholds

Arrays = tuple[Array, ...]


class StageOne(NamedTuple):
    """Scores as a named tuple of arrays; features in whatever form the runner takes them back."""

    scores: Arrays
    features: object


class Runner(Protocol):
    """The stages of one model on one backend. Safe to be called from several threads at once."""

    def forward(self, batch: Batch[Array]) -> StageOne: ...

    def rescore(self, features: object, rows: Arrays) -> Arrays: ...


def run_stages(
    runner: Runner,
    decoder: Decoder,
    batch: Batch[Array],
    thresholds: ScoreThresholds,
    given: PredictedSpans | None = None,
) -> list[Prediction]:
    """One prediction per example: stage one, what it proposes, stage two for that, and the decoder's verdict."""
    first = runner.forward(batch)
    proposal = decoder.propose(first.scores, batch, thresholds, given)
    second = ((rows, runner.rescore(first.features, rows)) for rows in proposal.rows)
    return decoder.decode(proposal, second, batch, thresholds)
