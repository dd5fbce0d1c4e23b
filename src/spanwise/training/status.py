"""Where a run stands: loss, speed and the time left, from what its reports say."""

from __future__ import annotations

from collections import deque
from statistics import fmean

from spanwise.training.reporting import EpochReport, StepReport, TrainingPlan

SMOOTHING = 0.95
RECENT = 200  # batches that the time left is estimated from


class RunStatus:
    """The state of one run. The time left counts the scoring of dev once an epoch of this session was scored."""

    def __init__(self, plan: TrainingPlan) -> None:
        self.plan, self.done, self.step_number, self.closed = plan, plan.done, plan.step, plan.epoch
        self._loss = self._speed = 0.0
        self.batch_seconds: deque[float] = deque(maxlen=RECENT)
        self.closing_seconds: list[float] = []

    def step(self, report: StepReport) -> None:
        self.done, self.step_number = self.plan.done_after(report.epoch, report.batch + 1), report.step
        speed = report.pieces / max(report.seconds, 1e-9)
        first = not self.batch_seconds
        self._loss = report.loss if first else _smoothed(self._loss, report.loss)
        self._speed = speed if first else _smoothed(self._speed, speed)
        self.batch_seconds.append(report.seconds)

    def epoch(self, report: EpochReport) -> None:
        self.closed = report.epoch
        self.closing_seconds.append(report.closing)

    @property
    def epoch_text(self) -> str:
        return f"epoch {min(self.closed + 1, self.plan.epochs)}/{self.plan.epochs}"

    @property
    def steps_text(self) -> str:
        return f"{self.step_number:,}/{self.plan.steps:,}"

    @property
    def loss_text(self) -> str:
        return f"loss {self._loss:.3f}" if self.batch_seconds else ""

    @property
    def speed_text(self) -> str:
        """The speed, or what the run does instead of training."""
        if self.plan.score and self.closed < self.plan.epochs and self.done == self.plan.done_after(self.closed + 1, 0):
            return "scoring dev"
        return f"{self._speed:,.0f} pieces/s" if self.batch_seconds else ""

    @property
    def percent(self) -> float:
        return 100 * self.done / max(self.plan.total, 1)

    @property
    def time_left(self) -> str:
        if not self.batch_seconds:
            return "time left unknown"
        closing = fmean(self.closing_seconds) if self.closing_seconds else 0.0
        seconds = self.plan.seconds_left(self.done, self.closed, fmean(self.batch_seconds), closing)
        return f"{duration(seconds)} left"


def duration(seconds: float) -> str:
    """A time for people, of at most nine characters: 45 s, 12 min, 3 h 05, 4 d 02 h."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02}" if hours < 100 else f"{hours // 24} d {hours % 24:02} h"


def _smoothed(before: float, now: float) -> float:
    return SMOOTHING * before + (1 - SMOOTHING) * now
