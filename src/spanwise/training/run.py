"""One training run: a recipe in, a folder with the model, its recipe, environment, metrics and card out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from spanwise import runtime
from spanwise.corpora import CORPORA, Corpus
from spanwise.files import remove_partial_files, write_text
from spanwise.pipeline import MODEL_CARD
from spanwise.plural import counted
from spanwise.recipe import RECIPE, Recipe
from spanwise.schema import EntityType, RelationType
from spanwise.text.profile import profile
from spanwise.training.checkpoint import Progress
from spanwise.training.preparation import PreparedRun, prepare
from spanwise.training.reporting import Listener, ListenerGroup, LoggingListener, NullListener
from spanwise.training.run_folder import CARD_MARK, CHECKPOINT, ENVIRONMENT, SUMMARY, check_folder, clear_folder
from spanwise.training.tensorboard import TensorBoard
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
    if recipe.train.tensorboard and runtime.is_main_process():
        listener = ListenerGroup(listener, TensorBoard(folder))
    trainer = Trainer(prepared, folder, listener, stop=stop, fresh=force)
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


def model_card(prepared: PreparedRun, summary: RunSummary) -> str:
    """What a reader of the model folder wants to know first."""
    recipe, schema = prepared.recipe, prepared.data.schema
    bundle = f", bundled with {recipe.bundle.name} (α = {recipe.bundle.alpha})" if recipe.bundle else ""
    score = "no dev data" if summary.dev_f1 is None else f"{100 * summary.dev_f1:.2f} (epoch {summary.best_epoch})"
    relations = recipe.model.config.traits().relations and schema.relations
    rows: dict[str, Any] = {
        "model": f"{recipe.model.name}{bundle}",
        "encoder": Path(recipe.encoder.name).name,
        "training data": f"{_source(prepared)}, {counted(len(prepared.data.train), 'document')}",
        f"{summary.selected_by or 'dev F1'}, micro, strict": score,
        "seed": recipe.train.seed,
        "trained": f"{date.today()}, {counted(summary.steps, 'step')}",
    }
    labels = _listed("Labels", schema.entities) + (_listed("Relations", schema.relations) if relations else "")
    table = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
    return f"""---
{CARD_MARK}
tags: [token-classification, span-extraction]
---
# A spanwise model

```python
from spanwise import Extractor

extractor = Extractor.from_pretrained("this-folder")
print(extractor("A text of your own.").entities)
```

| | |
|---|---|
{table}

{_corpora(prepared)}{labels}"""


def _source(prepared: PreparedRun) -> str:
    parts = prepared.data.parts
    return prepared.data.name if len(parts) == 1 else counted(len(parts), "corpus", "corpora")


def _corpora(prepared: PreparedRun) -> str:
    """The corpora of a model that was trained on several, with their licenses."""
    parts = prepared.data.parts
    if len(parts) == 1:
        return ""
    licenses = {named.name: named.license for named in CORPORA}
    lines = [f"- `{part.name}`: {licenses.get(part.name, 'own files')}\n" for part in parts]
    return f"## Corpora and their licenses\n{''.join(lines)}\n"


def _listed(title: str, kinds: Sequence[EntityType | RelationType]) -> str:
    lines = [f"- `{kind.name}`{': ' + kind.description if kind.description else ''}\n" for kind in kinds]
    return f"## {title}\n{''.join(lines)}"
