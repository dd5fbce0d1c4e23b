"""What training says while it runs, and to whom."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Protocol

from spanwise.metrics import Score

log = logging.getLogger("spanwise")


ENTITY_SCORE, JOINT_SCORE = "dev F1 of entities", "mean of entity F1 and RE+ F1"  # that select the best epoch
MEAN_SCORE = "mean dev F1 of the corpora"  # with several corpora


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How long a run is at most, where this session starts, and which score selects the model."""

    batches: tuple[int, ...]  # of each epoch
    accumulate: int = 1  # batches per optimizer step
    epoch: int = 0  # to start with
    batch: int = 0  # batches of that epoch that an earlier session did
    step: int = 0  # optimizer steps of earlier sessions
    score: str | None = None  # None: no dev data, the last model is kept

    @property
    def epochs(self) -> int:
        return len(self.batches)

    @property
    def total(self) -> int:
        """Batches of the whole run."""
        return sum(self.batches)

    @property
    def steps(self) -> int:
        """Optimizer steps of the whole run."""
        return sum(-(-size // self.accumulate) for size in self.batches)

    @property
    def done(self) -> int:
        """Batches of earlier sessions."""
        return self.done_after(self.epoch, self.batch)

    def done_after(self, epoch: int, batch: int) -> int:
        """Batches of the run that are done after this many of the epoch."""
        return sum(self.batches[:epoch]) + batch

    def seconds_left(self, done: int, closed: int, batch_seconds: float, closing_seconds: float) -> float:
        """What is left after `done` batches and `closed` epochs, by the time of a batch and of closing an epoch."""
        return (self.total - done) * batch_seconds + (self.epochs - closed) * closing_seconds


@dataclass(frozen=True, slots=True)
class StepReport:
    """What one batch cost and gave."""

    epoch: int
    batch: int
    loss: float
    terms: Mapping[str, float]
    pieces: int
    seconds: float = 0.0
    step: int = 0  # optimizer steps done, those of earlier sessions included


@dataclass(frozen=True, slots=True)
class DevScore:
    """Strict micro scores on dev; `relations` (RE+) only where the model predicts and the data has some.

    With several corpora, `corpora` has the F1 of each, and `entities` counts over all.
    """

    entities: Score
    relations: Score | None = None
    corpora: tuple[float, ...] = ()

    @property
    def f1(self) -> float:
        """What the best epoch is chosen by: the entities' F1, its mean with the relations', or the corpora's mean."""
        if self.corpora:
            return fmean(self.corpora)
        return self.entities.f1 if self.relations is None else (self.entities.f1 + self.relations.f1) / 2

    def __str__(self) -> str:
        if self.corpora:
            return f"{MEAN_SCORE} {100 * self.f1:.2f}"
        if self.relations is None:
            return f"{ENTITY_SCORE} {100 * self.f1:.2f}"
        entities, relations = 100 * self.entities.f1, 100 * self.relations.f1
        return f"dev: entities {entities:.2f}, RE+ {relations:.2f}, mean {100 * self.f1:.2f}"


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What an epoch gave."""

    epoch: int
    losses: Mapping[str, float]  # means over the epoch
    dev: DevScore | None
    best: bool
    seconds: float  # since the run began, sessions that were interrupted included
    closing: float = 0.0  # seconds of scoring dev and saving the model, a part of `seconds`

    def to_dict(self) -> dict[str, Any]:
        dev = self.dev and _fractions(self.dev.entities)
        if self.dev and self.dev.relations:
            dev = {**_fractions(self.dev.entities), "relations": _fractions(self.dev.relations)}
        if self.dev and self.dev.corpora:
            dev = {**_fractions(self.dev.entities), "mean": self.dev.f1, "corpora": list(self.dev.corpora)}
        losses = {name: round(value, 6) for name, value in self.losses.items()}
        return {"epoch": self.epoch, **losses, "dev": dev, "best": self.best, "seconds": round(self.seconds, 2)}


def _fractions(score: Score) -> dict[str, Any]:
    return {"precision": score.precision, "recall": score.recall, "f1": score.f1}


class Listener(Protocol):
    """Hears of training as it goes."""

    def notice(self, sentence: str) -> None: ...

    def start(self, plan: TrainingPlan) -> None: ...

    def step(self, report: StepReport) -> None: ...

    def epoch(self, report: EpochReport) -> None: ...


class NullListener:
    """A listener that says nothing; the base of those that only care for some of it."""

    def notice(self, sentence: str) -> None: ...

    def start(self, plan: TrainingPlan) -> None: ...

    def step(self, report: StepReport) -> None: ...

    def epoch(self, report: EpochReport) -> None: ...


class LoggingListener(NullListener):
    """A listener that logs what the user must see: the one of a training that is started from Python."""

    def notice(self, sentence: str) -> None:
        log.warning(sentence)


class NoticeCollector(NullListener):
    """A listener that keeps what the user must see."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def notice(self, sentence: str) -> None:
        self.sentences.append(sentence)


class ListenerGroup:
    """Several listeners as one."""

    def __init__(self, *listeners: Listener) -> None:
        self.listeners = listeners

    def notice(self, sentence: str) -> None:
        for listener in self.listeners:
            listener.notice(sentence)

    def start(self, plan: TrainingPlan) -> None:
        for listener in self.listeners:
            listener.start(plan)

    def step(self, report: StepReport) -> None:
        for listener in self.listeners:
            listener.step(report)

    def epoch(self, report: EpochReport) -> None:
        for listener in self.listeners:
            listener.epoch(report)
