"""The files of a model folder that every backend reads: config, schema and tuning."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from spanwise.errors import InputError, ModelError, SchemaError, shortened
from spanwise.files import write_text
from spanwise.pipeline.tuning import Tuning
from spanwise.schema import Schema

CONFIG, SCHEMA = "config.json", "schema.json"
BACKEND, ONNX = "backend", "onnx"  # a key of the config, and its value in an exported folder
TUNING = "tuning"  # key of the config


def read_config(folder: Path) -> dict[str, Any]:
    """The config of a model folder, as it is stored."""
    if not folder.is_dir():
        raise ModelError(f"{folder}: this model folder does not exist; train one with `spanwise train`.")
    return _read_json(folder / CONFIG)


def read_schema(folder: Path) -> Schema:
    path = folder / SCHEMA
    try:
        return Schema.from_dict(_read_json(path))
    except SchemaError as error:
        raise ModelError(f"{path}: {error}") from None


def to_json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def store_tuning(folder: Path, member: str, tuning: Tuning) -> None:
    """Store the thresholds and temperatures of one member; all else in the model folder stays as it is."""
    config = _read_json(folder / CONFIG)
    others = {name: values for name, values in (config.get(TUNING) or {}).items() if name != member}
    write_text(folder / CONFIG, to_json(with_tuning(config, {**others, **tuning_to_dict({member: tuning})})))


def remove_tuning(folder: Path, member: str | None = None) -> None:
    """The thresholds and temperatures of the trained model again, of one member or all, even if they are invalid."""
    config = _read_json(folder / CONFIG)
    stored, others = config.get(TUNING), {}
    if member is not None:
        check_member(member, member_names(config))
        others = {name: values for name, values in stored.items() if name != member} if isinstance(stored, dict) else {}
    write_text(folder / CONFIG, to_json(with_tuning(config, others)))


def member_names(config: Mapping[str, Any]) -> list[str]:
    """The model, and its partner in a bundle."""
    sections = (config.get("model"), config.get("bundle"))
    return [str(section.get("name")) for section in sections if isinstance(section, dict)]


def check_member(name: str, members: Iterable[str]) -> None:
    if name not in (known := list(members)):
        raise InputError(f"the bundle has no member {name!r}; choose the reader from {', '.join(known)}.")


def with_tuning(config: Mapping[str, Any], tuning: Mapping[str, Any]) -> dict[str, Any]:
    """The config with this tuning, last; a model that was never tuned has no such key."""
    others = {key: value for key, value in config.items() if key != TUNING}
    return {**others, TUNING: tuning} if tuning else others


def tuning_to_dict(tuning: Mapping[str, Tuning]) -> dict[str, Any]:
    return {name: values.model_dump(mode="json") for name, values in tuning.items() if values != Tuning()}


def read_tuning(folder: Path, config: Mapping[str, Any], members: Iterable[str], schema: Schema) -> dict[str, Tuning]:
    """The stored tuning of the members; a folder that was never tuned has none."""
    try:
        stored = dict(config.get(TUNING) or {})
        tuning = {str(name): Tuning.model_validate(values) for name, values in stored.items()}
    except ValidationError as error:
        first = error.errors()[0]
        wrong = f"has {shortened('.'.join(map(str, first['loc'])))!r}: {first['msg']}"
    except (TypeError, ValueError):
        wrong = "is no mapping"
    else:
        unknown = _unknown_names(tuning, members, schema)
        if not unknown:
            return tuning
        wrong = f"names {shortened(repr(unknown[0]))}, which the model does not have"
    raise ModelError(f"{folder / CONFIG}: the tuning {wrong}; remove it with `spanwise tune {folder} --reset`.")


def _unknown_names(tuning: Mapping[str, Tuning], members: Iterable[str], schema: Schema) -> list[str]:
    labels = {name for values in tuning.values() for name in values.thresholds}
    relations = {name for values in tuning.values() for name in values.relation_thresholds}
    return sorted(
        {*(set(tuning) - set(members)), *(labels - set(schema.entity_names)), *(relations - set(schema.relation_names))}
    )


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path.parent}: {path.name} is missing; the spanwise model is incomplete.") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: damaged or truncated ({first_line(error)}); copy it again.") from None
    if not isinstance(data, dict):
        raise ModelError(f"{path}: not a JSON object written by spanwise; copy it again.")
    return data
