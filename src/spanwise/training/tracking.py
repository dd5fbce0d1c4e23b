"""Experiment tracking: curves of a run in TensorBoard, MLflow or Weights & Biases, when the recipe asks for them.

MLflow and Weights & Biases are reached through accelerate's trackers and are set up by their own environment variables,
such as MLFLOW_TRACKING_URI and WANDB_MODE.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanwise import runtime
from spanwise.errors import RecipeError
from spanwise.files import write_text
from spanwise.metrics import Score
from spanwise.recipe import Recipe
from spanwise.training.reporting import EpochReport, Listener, ListenerGroup, NullListener, StepReport, TrainingPlan
from spanwise.training.run_folder import TRACKED
from spanwise.training.tensorboard import TensorBoard

if TYPE_CHECKING:
    from accelerate.tracking import GeneralTracker

PROJECT = "spanwise"  # name of the experiment in MLflow, of the project in Weights & Biases
NAMES = {"mlflow": "MLflow", "wandb": "Weights & Biases"}


@contextmanager
def tracked(listener: Listener, recipe: Recipe, folder: Path) -> Iterator[Listener]:
    """The listener, together with the tracker that the recipe names; the tracker's run ends with the block."""
    name = recipe.train.tracker
    if name is None or not runtime.is_main_process():
        yield listener
        return
    tracker = TensorBoard(folder) if name == "tensorboard" else ExperimentTracker(name, recipe, folder)
    try:
        yield ListenerGroup(listener, tracker)
    finally:
        tracker.close()


class ExperimentTracker(NullListener):
    """Records options, loss terms per batch and dev scores per epoch. A resumed run goes on in the tracker's run."""

    def __init__(self, name: str, recipe: Recipe, folder: Path) -> None:
        if find_spec(name) is None:
            raise RecipeError(
                f"train.tracker needs {NAMES[name]}; run `pip install 'spanwise[{name}]'` or set it to null."
            )
        self.name, self.recipe, self.folder = name, recipe, folder
        self.tracker: GeneralTracker | None = None
        self.batches = 0

    def start(self, plan: TrainingPlan) -> None:
        self.batches = plan.done
        self.tracker = self._opened()
        self.tracker.store_init_configuration(dict(_flat(self.recipe.model_dump(mode="json"))))

    def _opened(self) -> GeneralTracker:
        """A new run of the tracker, or the one of the session that was interrupted."""
        from accelerate.tracking import MLflowTracker, WandBTracker

        path, name = self.folder / TRACKED, self.folder.name
        stored = json.loads(path.read_text(encoding="utf-8")).get(self.name) if path.exists() else None
        if self.name == "mlflow":
            tracker = MLflowTracker(PROJECT, run_id=stored, run_name=name)
            tracker.start()
            identifier = tracker.tracker.info.run_id
        else:
            tracker = WandBTracker(PROJECT, name=name, **({"id": stored, "resume": "allow"} if stored else {}))
            tracker.start()
            identifier = tracker.tracker.id
        write_text(path, json.dumps({self.name: identifier}) + "\n")
        return tracker

    def step(self, report: StepReport) -> None:
        self.batches += 1
        self._log({f"loss/{name}": value for name, value in {"total": report.loss, **report.terms}.items()})

    def epoch(self, report: EpochReport) -> None:
        scores = _scores("dev", report.dev.entities) if report.dev else {}
        if report.dev and report.dev.relations:
            scores |= _scores("dev/relations", report.dev.relations)
        self._log({"epoch": report.epoch, "seconds": report.seconds, **scores})

    def close(self) -> None:
        if self.tracker is not None:
            self.tracker.finish()

    def _log(self, values: dict[str, float]) -> None:
        if self.tracker is not None:
            self.tracker.log(values, step=self.batches)


def _scores(prefix: str, score: Score) -> dict[str, float]:
    return {f"{prefix}/{name}": getattr(score, name) for name in ("precision", "recall", "f1")}


def _flat(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Options with dotted keys; a list is written as text."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", json.dumps(value) if isinstance(value, list) else value
