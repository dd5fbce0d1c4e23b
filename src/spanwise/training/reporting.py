"""What training says while it runs, and to whom."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from spanwise.metrics import Score

log = logging.getLogger("spanwise")


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How long a run will be."""

    epochs: int
    batches: int  # of one epoch
    done: int  # batches of an earlier session


@dataclass(frozen=True, slots=True)
class StepReport:
    """What one batch cost and gave."""

    epoch: int
    batch: int
    loss: float
    terms: Mapping[str, float]
    pieces: int
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class DevScore:
    """Strict micro scores on dev; `relations` (RE+) only where the model predicts and the data has some."""

    entities: Score
    relations: Score | None = None

    @property
    def f1(self) -> float:
        """What the best epoch is chosen by: the entities' F1, or its mean with the relations'."""
        return self.entities.f1 if self.relations is None else (self.entities.f1 + self.relations.f1) / 2

    def __str__(self) -> str:
        if self.relations is None:
            return f"dev F1 {100 * self.f1:.2f}"
        return f"dev F1 {100 * self.entities.f1:.2f}, relations {100 * self.relations.f1:.2f}"


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What an epoch gave."""

    epoch: int
    losses: Mapping[str, float]  # means over the epoch
    dev: DevScore | None
    best: bool
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        dev = self.dev and _fractions(self.dev.entities)
        if self.dev and self.dev.relations:
            dev = {**_fractions(self.dev.entities), "relations": _fractions(self.dev.relations)}
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
