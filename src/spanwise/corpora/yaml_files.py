"""YAML files that users write, read with one sentence for whatever is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from spanwise.errors import RecipeError


def read_yaml(path: Path) -> Any:
    """The content of a YAML file, without shared or self-referring parts."""
    try:
        return deep_copy(yaml.safe_load(path.read_text(encoding="utf-8")))
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        line = f":{place.line + 1}" if place else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise RecipeError(f"{path}{line}: invalid YAML ({problem}); correct it.") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise RecipeError(f"{path}: byte 0x{byte:02x} is not UTF-8; save the recipe as UTF-8.") from None
    except (ValueError, RecursionError) as error:  # an invalid date, an anchor inside itself
        raise RecipeError(f"{path}: invalid YAML ({error}); correct it.") from None


def deep_copy(data: Any) -> Any:
    """A copy without shared or self-referring parts."""
    if isinstance(data, dict):
        return {key: deep_copy(value) for key, value in data.items()}
    return [deep_copy(value) for value in data] if isinstance(data, list) else data


def first_error(error: ValidationError, kind: type[BaseModel]) -> str:
    """The first problem of a validation as `kind`, as one sentence that begins with its key."""
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"])) or "recipe"
    known = {
        "extra_forbidden": f"unknown key{_suggestion(kind, first['loc'])}",
        "missing": "this key is required",
        "value_error": first["msg"].removeprefix("Value error, "),
    }
    problem = known.get(first["type"]) or f"{first['msg']}, not {first['input']!r:.60}"
    more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{key}: {problem}{more}."


def _suggestion(kind: type[BaseModel] | None, place: Sequence[int | str]) -> str:
    """The known key that is most like an unknown one, if any is."""
    *sections, key = place
    for section in sections:
        field = kind.model_fields.get(str(section)) if kind else None
        kind = next(filter(_is_model, (field.annotation, *get_args(field.annotation))), None) if field else None
    close = get_close_matches(str(key), kind.model_fields, n=1) if kind else []
    return f" (did you mean {close[0]}?)" if close else ""


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
