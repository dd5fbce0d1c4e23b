"""The folder of a run: what a run writes into it, whether a run may start there, and how it is cleared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spanwise.errors import RecipeError
from spanwise.files import is_partial, remove_partial_files
from spanwise.pipeline import MODEL_CARD
from spanwise.pipeline.folder import WEIGHTS
from spanwise.pipeline.stored import CONFIG, SCHEMA
from spanwise.recipe import RECIPE, Recipe
from spanwise.recipe.parsing import read_recipe

ENVIRONMENT, SUMMARY, METRICS = "environment.json", "run.json", "metrics.jsonl"
CHECKPOINT, CURVES = "checkpoint.safetensors", "tensorboard"
TRACKED = "tracker.json"  # names the run of the tracker that a resumed run goes on with
CARD_MARK = "library_name: spanwise"
TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt"),
    *("vocab.json", "merges.txt", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "chat_template.jinja"),
)
RUN_FILES = (CONFIG, SCHEMA, WEIGHTS, RECIPE, ENVIRONMENT, SUMMARY, METRICS, CHECKPOINT, TRACKED, *TOKENIZER_FILES)
ANEW = "start anew with --force (force=True in Python)"
SHOWN, LONGEST = 8, 120  # differences of two recipes that an error lists, and characters of a value


def check_folder(recipe: Recipe, folder: Path, *, force: bool = False) -> None:
    """Refuse a folder that holds something else: nothing is overwritten unless `force` allows it, and then only a run.

    The file `environment.json` shows that the folder is one of a run: it is the first that a run writes.
    """
    if folder.exists() and not folder.is_dir():
        raise RecipeError(f"{folder} is a file; give a folder that does not exist yet.")
    if not folder.exists() or all(map(is_partial, folder.iterdir())):
        return
    if not (folder / ENVIRONMENT).exists():
        raise RecipeError(f"{folder} is not empty and holds no spanwise run; give another folder.")
    if force:
        return
    if (folder / SUMMARY).exists():
        raise RecipeError(f"{folder} holds a finished run; give another folder, or {ANEW}, which deletes this run.")
    if (folder / RECIPE).exists():
        _check_recipe(recipe, folder / RECIPE)


def _check_recipe(recipe: Recipe, written: Path) -> None:
    """Refuse an interrupted run of another recipe, and say how the two differ."""
    run = f"{written.parent} holds an interrupted run of another recipe"
    try:
        before = Recipe.parse(read_recipe(written, (), Recipe.model_fields))
    except RecipeError as error:
        reason = str(error).rstrip(".")
        raise RecipeError(f"{run}, which cannot be read ({reason}); give another folder, or {ANEW}.") from None
    if differences := list(_differences(before.model_dump(mode="json"), recipe.model_dump(mode="json"))):
        more = f"; and {len(differences) - SHOWN} more" if len(differences) > SHOWN else ""
        listed = "; ".join(differences[:SHOWN]) + more
        raise RecipeError(f"{run} ({listed}); use its recipe to resume, give another folder, or {ANEW}.")


def _differences(before: Any, now: Any, key: str = "") -> Iterator[str]:
    """The keys with other values; of two models with different names, only the options that both have."""
    if not (isinstance(before, Mapping) and isinstance(now, Mapping)):
        if before != now:
            yield f"{key}: {_short(before)} there, {_short(now)} here"
        return
    same_kind = before.get("name") == now.get("name")
    for name in {**before, **now}:
        if same_kind or (name in before and name in now):
            yield from _differences(before.get(name), now.get(name), f"{key}.{name}" if key else name)


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}…{text[-LONGEST // 2 :]}"


def clear_folder(folder: Path) -> None:
    """Remove what a run wrote, and nothing else."""
    if not (folder / ENVIRONMENT).exists():
        return
    for path in (*(folder / name for name in RUN_FILES), *(folder / CURVES).glob("events.out.tfevents.*")):
        if path.is_file():
            path.unlink()
    if (folder / CURVES).is_dir() and not any((folder / CURVES).iterdir()):
        (folder / CURVES).rmdir()
    card = folder / MODEL_CARD
    if card.is_file() and CARD_MARK.encode() in card.read_bytes():
        card.unlink()
    remove_partial_files(folder)
