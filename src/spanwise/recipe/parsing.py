"""From a YAML file and overrides to the content of a recipe; wrong input ends with one sentence."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from spanwise.corpora.options import DataOptions
from spanwise.corpora.yaml_files import MAX_DEPTH, deep_copy, first_error, parse_yaml, read_yaml
from spanwise.errors import RecipeError, shortened
from spanwise.renamed import upgrade_keys

RECIPE = "recipe.yaml"  # in a run folder
RECIPES = Path(__file__).parent.parent / "recipes"
FILES = ("data.train", "data.dev", "data.test")
APPEND = "+"  # at the end of a key: key+=value
MAX_OVERRIDE = 100_000  # characters
Section = TypeVar("Section", bound=BaseModel)


def shipped_recipes() -> dict[str, Path]:
    """The shipped recipes by name; those with a paper's own settings are named `paper/…`."""
    files = (*RECIPES.glob("*.yaml"), *RECIPES.glob("paper/*.yaml"))
    return dict(sorted((file.relative_to(RECIPES).with_suffix("").as_posix(), file) for file in files))


def find_recipe(name: Path | str) -> Path:
    """A recipe file, or the shipped recipe of this name."""
    path, shipped = Path(name), shipped_recipes()
    if path.is_file():
        return path
    if found := shipped.get(path.as_posix().removesuffix(".yaml")):
        return found
    if path.exists():  # a folder, which reading refuses
        return path
    papers = [each for each in shipped if each.startswith("paper/")]
    own = [each for each in shipped if each not in papers]
    known = ", ".join(papers if path.parts[:1] == ("paper",) else [*own, f"or the {len(papers)} of paper/…"])
    raise RecipeError(
        f"recipe file {str(name)!r} does not exist; write one with `spanwise init`, or choose from {known}."
    )


def read_recipe(path: Path, overrides: Iterable[str], sections: Iterable[str]) -> dict[str, Any]:
    """The content of a recipe file, with overrides applied."""
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise RecipeError(f"{path}: a recipe is a mapping with the sections {', '.join(sections)}.")
    return override(upgrade_keys(data), overrides)


def validated(kind: type[Section], data: object, where: str) -> Section:
    """The data as a section; errors begin with `where` and the key."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise RecipeError(f"{where}: {first_error(error, kind)}") from None
    except RecipeError as error:  # about a model's own options
        raise RecipeError(f"{where}: {error}") from None


def override(data: dict[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """The data with `dotted.key=value` assignments applied; `dotted.key+=value` appends to a list."""
    result: dict[str, Any] = deep_copy(data)
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        appends = key.endswith(APPEND)
        key = key.removesuffix(APPEND)
        if not equals or not key:
            raise RecipeError(f"--set takes key=value, as in --set train.seed=2, not {shortened(assignment)!r}.")
        *sections, last = _path(key)
        section, value = _section(result, sections, shortened(key)), _value(shortened(key), text)
        section[last] = [*_listed(section.get(last)), *_appended(key, value)] if appends else value
    return result


def _appended(key: str, value: Any) -> list[Any]:
    """What is appended to a list; files beside those of the recipe are relative to the working directory."""
    items = _listed(value)
    return [str(Path.cwd() / item) if isinstance(item, str) else item for item in items] if key in FILES else items


def _listed(value: Any) -> list[Any]:
    """A value that is no list is one item; a missing one is none."""
    return [] if value is None else value if isinstance(value, list) else [value]


def _path(key: str) -> list[str]:
    parts = key.split(".")
    if len(parts) > MAX_DEPTH:
        raise RecipeError(f"--set {shortened(key)}: the key has more than {MAX_DEPTH} parts.")
    return parts


def _section(data: dict[str, Any], sections: Iterable[str], key: str) -> dict[str, Any]:
    """The mapping inside these sections, made where it is missing."""
    for section in sections:
        if data.get(section) is None:
            data[section] = {}
        data = data[section]
        if not isinstance(data, dict):
            raise RecipeError(f"--set {key}: {shortened(section)!r} is a value and has no keys.")
    return data


def _value(key: str, text: str) -> Any:
    if len(text) > MAX_OVERRIDE:
        raise RecipeError(f"--set {key}: the value has more than {MAX_OVERRIDE:,} characters; write it in the recipe.")
    try:
        return parse_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise RecipeError(f"--set {key}: {text!r:.60} is not a YAML value.") from None


def anchored(data: DataOptions, base: Path, overrides: Iterable[str]) -> DataOptions:
    """Files are relative to the recipe that names them; those of an override to the working directory."""
    assigned = {assignment.partition("=")[0] for assignment in overrides}

    def folder(key: str) -> Path:
        return Path.cwd() if assigned & {"data", f"data.{key}"} else base.absolute()

    absolute: dict[str, Any] = {
        split: tuple(folder(split) / path for path in getattr(data, split)) for split in ("train", "dev", "test")
    }
    if isinstance(data.descriptions, Path):
        absolute["descriptions"] = folder("descriptions") / data.descriptions
    absolute["corpora"] = tuple(anchored(part, folder("corpora"), ()) for part in data.corpora)
    return data.model_copy(update=absolute)
