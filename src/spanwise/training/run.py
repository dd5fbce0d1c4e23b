"""One training run: a recipe in, a folder with the model, its recipe, environment, metrics and card out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from spanwise import runtime
from spanwise.corpora import Corpus
from spanwise.files import remove_partial_files, write_text
from spanwise.pipeline import MODEL_CARD
from spanwise.recipe import RECIPE, Recipe
from spanwise.text.profile import profile
from spanwise.training.card import model_card
from spanwise.training.checkpoint import Progress
from spanwise.training.preparation import PreparedRun, prepare
from spanwise.training.reporting import Listener, LoggingListener, NullListener
from spanwise.training.run_folder import CHECKPOINT, ENVIRONMENT, SUMMARY, check_folder, clear_folder
from spanwise.training.tracking import tracked
from spanwise.training.trainer import Trainer

__all__ = ["ENVIRONMENT", "SUMMARY", "RunSummary", "model_card", "train"]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a finished run ended; `dev_f1` is a fraction, the score that `selected_by` names, None without dev data."""

    dev_f1: float | None
    best_epoch: int
    steps: int
    seconds: float
    selected_by: str | None = None

    @classmethod
    def of(cls, progress: Progress, selected_by: str | None) -> RunSummary:
        dev = progress.best_f1 if progress.best_f1 >= 0 else None
        return cls(dev, progress.best_epoch, progress.step, round(progress.seconds, 2), selected_by)


def train(
    recipe: Recipe,
    folder: Path | str,
    listener: Listener | None = None,
    corpus: Corpus | None = None,
    *,
    force: bool = False,
    stop: Callable[[], bool] | None = None,
) -> RunSummary:
    """Train into a folder, or go on where an interrupted run of the same recipe stopped.

    `corpus` replaces the data that the recipe names, such as documents made in memory. `force` starts anew in a folder
    that holds a run, and deletes that run. `stop` is asked after every step, for example `threading.Event().is_set`;
    once it is true, a checkpoint is saved and `TrainingStopped` is raised.
    """
    folder = Path(folder)
    listener = (listener or LoggingListener()) if runtime.is_main_process() else NullListener()
    check_folder(recipe, folder, force=force)
    prepared = prepare(recipe, corpus)
    for sentence in prepared.notices:
        listener.notice(sentence)
    with tracked(listener, recipe, folder) as listeners:
        trainer = Trainer(prepared, folder, listeners, stop=stop, fresh=force)
        if trainer.accelerator.is_main_process:
            _begin(recipe, folder, trainer, force=force)
        summary = RunSummary.of(trainer.train(), trainer.plan.score)
    if summary.dev_f1 == 0:
        listener.notice(nothing_learned(prepared, summary))
    if trainer.accelerator.is_main_process:
        write_text(folder / MODEL_CARD, model_card(prepared, summary))
        write_text(folder / SUMMARY, json.dumps(asdict(summary)) + "\n")
        (folder / CHECKPOINT).unlink(missing_ok=True)
    return summary


def _begin(recipe: Recipe, folder: Path, trainer: Trainer, *, force: bool) -> None:
    """Make the folder of the run; all that can be refused was refused before."""
    folder.mkdir(parents=True, exist_ok=True)
    clear_folder(folder) if force else remove_partial_files(folder)
    environment = {
        **runtime.describe_environment(),
        "processes": trainer.accelerator.num_processes,
        "precision": {"no": "fp32"}.get(trainer.accelerator.mixed_precision, trainer.accelerator.mixed_precision),
    }
    write_text(folder / ENVIRONMENT, json.dumps(environment, indent=2) + "\n")
    write_text(folder / RECIPE, recipe.dump())


def nothing_learned(prepared: PreparedRun, summary: RunSummary) -> str:
    """What may be wrong where no prediction on dev was right."""
    options, traits = prepared.recipe.train, prepared.blueprint.model.config.traits()
    rates = f"train.encoder_lr {options.encoder_lr:g}, train.task_lr {options.task_lr:g}"
    labels = Counter(entity.label for row in prepared.data.train for entity in row.document.entities)
    rarest, count = min(labels.items(), key=lambda item: item[1])
    causes = [
        f"too few steps ({summary.steps:,}; raise train.epochs or lower train.batch_size)",
        f"learning rates that do not fit ({rates})",
        f"labels that are rare or differ between train and dev (the rarest in train is {rarest!r}, {count} times)",
    ]
    if traits.max_width is not None:
        wide = profile(prepared.data.split("dev")).wider_than(traits.max_width)
        causes.append(f"entities wider than the model's max_width of {traits.max_width} ({wide} in dev)")
    return f"the {summary.selected_by} is 0. Likely causes: {'; '.join(causes)}. `spanwise inspect` shows the data."
