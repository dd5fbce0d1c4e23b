"""Training on the terminal: step, loss terms, speed, time left, dev F1."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from spanwise.runtime import is_main_process
from spanwise.training.reporting import EpochReport, StepReport, TrainingPlan

SMOOTHING = 0.95


class LiveDisplay:
    """A live line on a terminal; one line per epoch where there is no terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.progress = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[loss]}"),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[dev]}"),
            console=console,
            transient=True,
        )
        self.task = self.progress.add_task("train", total=None, epoch="", loss="", speed="", dev="")
        self.smooth: dict[str, float] = {}
        self.epochs = 0

    def __enter__(self) -> Self:
        if self.console.is_terminal and is_main_process():
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.progress.live.is_started:
            self.progress.stop()

    def notice(self, sentence: str) -> None:
        self.console.print(f"note: {sentence}", markup=False, soft_wrap=True)

    def start(self, plan: TrainingPlan) -> None:
        self.epochs = plan.epochs
        self.progress.update(self.task, total=plan.epochs * plan.batches, completed=plan.done, epoch=f"1/{plan.epochs}")

    def step(self, report: StepReport) -> None:
        now = {**report.terms, "loss": report.loss, "speed": report.pieces / max(report.seconds, 1e-9)}
        for name, value in now.items():
            self.smooth[name] = SMOOTHING * self.smooth.get(name, value) + (1 - SMOOTHING) * value
        terms = ["loss", *(report.terms if len(report.terms) > 1 else ())]
        self.progress.update(
            self.task,
            advance=1,
            epoch=f"{report.epoch + 1}/{self.epochs}",
            loss=" ".join(f"{name} {self.smooth[name]:.3f}" for name in terms),
            speed=f"{self.smooth['speed']:,.0f} pieces/s",
        )

    def epoch(self, report: EpochReport) -> None:
        dev = str(report.dev) if report.dev else "no dev data"
        self.progress.update(self.task, dev=dev)
        losses = " ".join(f"{name} {value:.3f}" for name, value in report.losses.items())
        best = " (best so far)" if report.best and report.dev else ""
        self.console.print(f"epoch {report.epoch}/{self.epochs}  {losses}  {dev}{best}  {report.seconds:.0f} s")
