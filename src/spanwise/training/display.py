"""Training on the terminal, and in a log: steps, loss, speed, time left, dev scores."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Event, Thread
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from spanwise.plural import counted
from spanwise.runtime import is_main_process
from spanwise.training.reporting import EpochReport, StepReport, TrainingPlan
from spanwise.training.status import RunStatus

LOG_SECONDS = 25.0  # without a terminal: a line at least every 30 s, also on a busy machine


class LiveDisplay:
    """A live line on a terminal; where there is none, a line per epoch and one every `log_seconds` in between."""

    def __init__(self, console: Console, log_seconds: float = LOG_SECONDS) -> None:
        self.console, self.log_seconds = console, log_seconds
        self.progress = Progress(
            TextColumn("{task.fields[epoch]}"),
            BarColumn(bar_width=None),
            *(TextColumn(f"{{task.fields[{name}]}}") for name in ("steps", "loss", "speed", "left")),
            console=console,
            transient=True,
        )
        self.task = self.progress.add_task("train", total=None, epoch="preparing", steps="", loss="", speed="", left="")
        self.status: RunStatus | None = None
        self.closed = Event()
        self.printed = time.monotonic()

    def __enter__(self) -> Self:
        if not is_main_process():
            return self
        if self.console.is_terminal:
            self.progress.start()
        else:
            Thread(target=self._keep_logging, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closed.set()
        if self.progress.live.is_started:
            with suppress(OSError):  # the terminal may be gone: that is what HUP says
                self.progress.stop()

    def notice(self, sentence: str) -> None:
        self._print(f"note: {sentence}")

    def start(self, plan: TrainingPlan) -> None:
        self.status = RunStatus(plan)
        kept = f"keeps the best {plan.score}" if plan.score else "keeps the last epoch (no dev data)"
        self._print(f"training: {counted(plan.epochs, 'epoch')}, {counted(plan.steps, 'step')}; {kept}")
        self._refresh(self.status)

    def step(self, report: StepReport) -> None:
        if self.status is not None:
            self.status.step(report)
            self._refresh(self.status)

    def epoch(self, report: EpochReport) -> None:
        if self.status is None:
            return
        self.status.epoch(report)
        dev = f"{report.dev}{' (best)' if report.best else ''}" if report.dev else "no dev data"
        loss = f"loss {report.losses['loss']:.3f}"
        line = f"epoch {report.epoch}/{self.status.plan.epochs}  {loss}  {dev}  {report.seconds:,.0f} s"
        self._print(line if self.console.is_terminal else f"{line}  {self.status.time_left}")
        self._refresh(self.status)

    def _refresh(self, status: RunStatus) -> None:
        """Put the state of the run into the live line."""
        self.progress.update(
            self.task,
            total=status.plan.steps,
            completed=status.step_number,
            epoch=status.epoch_text,
            steps=status.steps_text,
            loss=status.loss_text,
            speed=status.speed_text,
            left=status.time_left,
        )

    def _keep_logging(self) -> None:
        """Print a line whenever nothing was printed for a while: a step or the scoring of dev may take long."""
        while not self.closed.wait(max(0.0, self.printed + self.log_seconds - time.monotonic())):
            if time.monotonic() - self.printed < self.log_seconds:
                continue
            try:
                self._print(_log_line(self.status))
            except (OSError, ValueError):  # nobody reads any more
                return

    def _print(self, line: str) -> None:
        self.printed = time.monotonic()
        self.console.print(line, markup=False, soft_wrap=True)


def _log_line(status: RunStatus | None) -> str:
    if status is None:
        return "preparing the data and the model"
    done = f"{status.percent:.0f}% of the run"
    parts = (status.epoch_text, done, f"step {status.steps_text}", status.loss_text, status.speed_text)
    return "  ".join(part for part in (*parts, status.time_left) if part)
