"""Training curves for TensorBoard, when the recipe asks for them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from spanwise.errors import RecipeError
from spanwise.training.reporting import EpochReport, NullListener, StepReport, TrainingPlan
from spanwise.training.run_folder import CURVES


class TensorBoard(NullListener):
    """Writes loss terms per step and dev scores per epoch into the run folder."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise RecipeError(
                "train.tracker needs TensorBoard; run `pip install 'spanwise[tensorboard]'` or set it to null."
            ) from None
        self.open = partial(SummaryWriter, str(folder / CURVES))
        self.step_number = 0

    def start(self, plan: TrainingPlan) -> None:
        self.writer = self.open(purge_step=plan.done + 1)  # not before: the folder is checked first
        self.step_number = plan.done

    def step(self, report: StepReport) -> None:
        self.step_number += 1
        for name, value in {"total": report.loss, **report.terms}.items():
            self.writer.add_scalar(f"loss/{name}", value, self.step_number)

    def epoch(self, report: EpochReport) -> None:
        if report.dev is not None:
            for name in ("precision", "recall", "f1"):
                self.writer.add_scalar(f"dev/{name}", getattr(report.dev.entities, name), report.epoch)
                if report.dev.relations is not None:
                    self.writer.add_scalar(f"dev/relations/{name}", getattr(report.dev.relations, name), report.epoch)
        self.writer.flush()

    def close(self) -> None:
        """Each epoch is flushed already."""
