"""The results file: one JSON line per finished run, looked up by its recipe."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from spanwise.errors import FormatError, RecipeError
from spanwise.recipe import Recipe

RESULTS = "results.jsonl"
Result = dict[str, Any]


def recipe_to_dict(recipe: Recipe) -> dict[str, Any]:
    """The recipe with all options, including those of its models."""
    return recipe.model_dump(mode="json")


def key(recipe: Recipe) -> str:
    """A hash of the recipe, equal for equal work. It names a run's folder and identifies its result.

    The precision does not count: which one is fast depends on the machine, and a result's environment names it.
    """
    work = recipe_to_dict(recipe)
    del work["train"]["precision"]
    return sha256(json.dumps(work, sort_keys=True).encode()).hexdigest()[:16]


def run_name(key: str, split: str) -> str:
    """What names a run: its recipe and the split that it is scored on, if that is not test."""
    return key if split == "test" else f"{key}-{split}"


def read_results(folder: Path) -> list[Result]:
    path = folder / RESULTS
    if not path.exists():
        return []
    *lines, _ = path.read_text(encoding="utf-8").split("\n")  # after the last newline: a line cut off by a kill
    try:
        return [_upgraded(json.loads(line)) for line in lines if line.strip()]
    except ValueError as error:
        raise FormatError(f"not a results file ({error}); move it away.", path) from None


def recorded_seeds(folder: Path) -> int:
    """The highest seed with a result; 0 without results."""
    return max((result["seed"] for result in read_results(folder)), default=0)


def recorded(folder: Path) -> dict[str, Result]:
    """The results by the names of their runs.

    Keys are computed again from the recipes, so that new or renamed options do not matter. If several lines have the
    same name, the last one counts. Results whose recipe is no longer valid are skipped.
    """
    lines = ((json.dumps(result["recipe"], sort_keys=True), result) for result in read_results(folder))
    named = ((_recorded_key(recipe, Recipe), result) for recipe, result in lines)
    return {run_name(name, result["split"]): result for name, result in named if name is not None}


@lru_cache(maxsize=4096)
def _recorded_key(recipe: str, kind: type[Recipe]) -> str | None:
    """The key of a recorded recipe, or None if it is no longer valid; parsing it takes milliseconds."""
    try:
        return key(kind.parse(json.loads(recipe), warns=False))
    except RecipeError:
        return None


def _upgraded(result: Result) -> Result:
    """A result in today's form; earlier lines have micro and macro scores of entities on test under other names."""
    if "test" not in result:
        return result
    rest = {name: value for name, value in result.items() if name not in ("test", "test_macro_f1")}
    macro = {"macro": {"f1": result["test_macro_f1"]}} if "test_macro_f1" in result else {}
    return {**rest, "split": "test", "entities": {"micro": result["test"], **macro}}


def append_result(folder: Path, result: Mapping[str, Any]) -> None:
    """Append a line and sync it to disk. It replaces a last line that a kill cut off."""
    with (folder / RESULTS).open("ab+") as file:
        file.seek(0)
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)
        file.write(json.dumps(result, ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
