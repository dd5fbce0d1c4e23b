"""One training run: a recipe in, a folder with the model, its recipe, environment, metrics and card out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from spanwise import runtime
from spanwise.corpora import Corpus
from spanwise.errors import RecipeError
from spanwise.files import remove_partial_files, write_text
from spanwise.pipeline import MODEL_CARD
from spanwise.plural import counted
from spanwise.recipe import RECIPE, Recipe
from spanwise.recipe.parsing import read_recipe
from spanwise.schema import EntityType, RelationType
from spanwise.training.checkpoint import Progress
from spanwise.training.preparation import PreparedRun, prepare
from spanwise.training.reporting import Listener, ListenerGroup, LoggingListener, NullListener
from spanwise.training.tensorboard import TensorBoard
from spanwise.training.trainer import CHECKPOINT, Trainer

ENVIRONMENT, SUMMARY = "environment.json", "run.json"


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a finished run ended; `dev_f1` is a fraction, None where there was no dev data."""

    dev_f1: float | None
    best_epoch: int
    steps: int
    seconds: float

    @classmethod
    def of(cls, progress: Progress) -> RunSummary:
        dev = progress.best_f1 if progress.best_f1 >= 0 else None
        return cls(dev, progress.best_epoch, progress.step, round(progress.seconds, 2))


def train(
    recipe: Recipe, folder: Path | str, listener: Listener | None = None, corpus: Corpus | None = None
) -> RunSummary:
    """Train into a folder, or go on where an interrupted run of the same recipe stopped.

    `corpus` replaces the data that the recipe names, such as documents made in memory.
    """
    folder = Path(folder)
    listener = (listener or LoggingListener()) if runtime.is_main_process() else NullListener()
    _check_folder(recipe, folder)
    prepared = prepare(recipe, corpus)
    for sentence in prepared.notices:
        listener.notice(sentence)
    if recipe.train.tensorboard and runtime.is_main_process():
        listener = ListenerGroup(listener, TensorBoard(folder))
    trainer = Trainer(prepared, folder, listener)
    if trainer.accelerator.is_main_process:
        folder.mkdir(parents=True, exist_ok=True)
        remove_partial_files(folder)
        write_text(folder / RECIPE, recipe.dump())
        environment = {
            **runtime.describe_environment(),
            "processes": trainer.accelerator.num_processes,
            "precision": {"no": "fp32"}.get(trainer.accelerator.mixed_precision, trainer.accelerator.mixed_precision),
        }
        write_text(folder / ENVIRONMENT, json.dumps(environment, indent=2) + "\n")
    summary = RunSummary.of(trainer.train())
    if trainer.accelerator.is_main_process:
        write_text(folder / MODEL_CARD, model_card(prepared, summary))
        write_text(folder / SUMMARY, json.dumps(asdict(summary)) + "\n")
        (folder / CHECKPOINT).unlink(missing_ok=True)
    return summary


def _check_folder(recipe: Recipe, folder: Path) -> None:
    """Refuse a folder that holds something else: nothing is overwritten."""
    if folder.exists() and not folder.is_dir():
        raise RecipeError(f"{folder} is a file; give a folder that does not exist yet.")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if (folder / SUMMARY).exists():
        raise RecipeError(f"{folder} holds a finished run; give another folder, or delete this one to train again.")
    written = folder / RECIPE
    if not written.exists():
        raise RecipeError(f"{folder} is not empty and holds no spanwise run; give another folder.")
    if not _same_recipe(recipe, written):
        raise RecipeError(f"{folder} holds an interrupted run of another recipe; give another folder.")


def _same_recipe(recipe: Recipe, written: Path) -> bool:
    """Whether an earlier version or this one wrote the same recipe, whatever it looks like as text."""
    try:
        before = Recipe.parse(read_recipe(written, (), Recipe.model_fields))
        return before == Recipe.parse(recipe.model_dump(mode="json"))
    except RecipeError:
        return False


def model_card(prepared: PreparedRun, summary: RunSummary) -> str:
    """What a reader of the model folder wants to know first."""
    recipe, schema = prepared.recipe, prepared.data.schema
    bundle = f", bundled with {recipe.bundle.name} (α = {recipe.bundle.alpha})" if recipe.bundle else ""
    score = "no dev data" if summary.dev_f1 is None else f"{100 * summary.dev_f1:.2f} (epoch {summary.best_epoch})"
    relations = recipe.model.config.traits().relations and schema.relations
    rows: dict[str, Any] = {
        "model": f"{recipe.model.name}{bundle}",
        "encoder": Path(recipe.encoder.name).name,
        "training data": f"{prepared.data.name}, {counted(len(prepared.data.train), 'document')}",
        "dev micro F1, strict" + (", mean of entities and relations" if relations else ""): score,
        "seed": recipe.train.seed,
        "trained": f"{date.today()}, {counted(summary.steps, 'step')}",
    }
    labels = _listed("Labels", schema.entities) + (_listed("Relations", schema.relations) if relations else "")
    table = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
    return f"""---
library_name: spanwise
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

{labels}"""


def _listed(title: str, kinds: Sequence[EntityType | RelationType]) -> str:
    lines = [f"- `{kind.name}`{': ' + kind.description if kind.description else ''}\n" for kind in kinds]
    return f"## {title}\n{''.join(lines)}"
