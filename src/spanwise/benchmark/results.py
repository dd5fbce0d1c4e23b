"""The file of results: one JSON line per finished run, found again by its recipe."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from spanwise.errors import FormatError, RecipeError
from spanwise.recipe import Recipe

RESULTS = "results.jsonl"
Result = dict[str, Any]


def recipe_to_dict(recipe: Recipe) -> dict[str, Any]:
    """The recipe with every option, those of its models included."""
    return recipe.model_dump(mode="json")


def key(recipe: Recipe) -> str:
    """Equal for equal work: the name of a run's folder, by which its result is found again."""
    return sha256(json.dumps(recipe_to_dict(recipe), sort_keys=True).encode()).hexdigest()[:16]


def read_results(folder: Path) -> list[Result]:
    path = folder / RESULTS
    if not path.exists():
        return []
    *lines, _ = path.read_text(encoding="utf-8").split("\n")  # behind the last line end: what a kill cut off
    try:
        return [json.loads(line) for line in lines if line.strip()]
    except ValueError as error:
        raise FormatError(f"not a results file ({error}); move it away.", path) from None


def recorded(folder: Path) -> dict[str, Result]:
    """The results by today's key of their recipes, which new options and renamed keys do not change.

    Of several lines with one key the last counts. A recipe that can no longer be read belongs to no run.
    """
    found = {}
    for result in read_results(folder):
        try:
            recipe = Recipe.parse(result["recipe"], warns=False)
        except RecipeError:
            continue
        found[key(recipe)] = result
    return found


def append_result(folder: Path, result: Mapping[str, Any]) -> None:
    """Add a line that is on disk when this returns, in the place of one that a kill cut off."""
    with (folder / RESULTS).open("ab+") as file:
        file.seek(0)
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)
        file.write(json.dumps(result, ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
