"""Names that earlier versions used, and their names today: recipe keys and values, command-line flags, weights.

Recipes, the config.json of model folders and the recipes of result lines have the same sections, so one table serves
all of them. A rename is one more line here; the old name keeps working and warns.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable
from typing import Any

# A section is a name such as "train", the name of a model for its own options, or "" for keys outside of sections.
KEYS: dict[tuple[str, str], str] = {  # (section, old key): new key
    ("encoder", "recompute"): "gradient_checkpointing",
    ("dspert", "keep"): "screening_threshold",
    ("train", "tensorboard"): "tracker",
    ("", "reads"): "reader",  # of a model folder
}
VALUES: dict[tuple[str, str], dict[object, object]] = {  # (section, today's key): {old value: new value}
    ("", "threshold"): {0.0: None},  # of a model folder
    ("evaluation", "threshold"): {0.0: None},  # the default, written out: no model of then had a threshold of its own
    ("encoder", "name"): {"../shared/encoders/roformer-zh-small": "roformer-zh-small"},  # of recorded results
    ("train", "tracker"): {True: "tensorboard", False: None},
}
FLAGS = {"--reads": "--reader"}  # of the command line
MODULES = {  # today's name of a model's module: the name in the weights of earlier versions
    "screening": "promise",
    "span_blocks": "own",
    "project_words": "of_words",
    "project_labels": "of_labels",
    "linear_first": "of_first",
    "linear_last": "of_last",
}
LOSSES = {"promise": "screening"}  # terms of a loss in a checkpoint: old name, today's name
MEMBERS = ("reader", "partner")  # of a bundle, before the name of a module


class RenamedWarning(FutureWarning):
    """A name of an earlier version is used."""


def warn(old: str, new: str) -> None:
    """Warn that a name is deprecated; Python shows each warning once."""
    warnings.warn(f"{old} is deprecated; use {new} instead.", RenamedWarning, stacklevel=3)


def upgrade_keys(data: dict[str, Any], *, warns: bool = True) -> dict[str, Any]:
    """A copy of the sections with today's keys and values."""
    result = {key: dict(value) if isinstance(value, dict) else value for key, value in data.items()}
    for (section, old), new in KEYS.items():
        for name, content in _contents(result, section):
            if old in content:
                content[new] = content.pop(old)
                if warns:
                    warn(f"{name}{old}", f"{name}{new}")
    for (section, key), values in VALUES.items():
        for _, content in _contents(result, section):
            before = content.get(key)
            if isinstance(before, Hashable) and before in values:
                content[key] = values[before]
    return result


def upgrade_flags(arguments: list[str]) -> list[str]:
    """Command-line arguments with today's flags, given as `--flag value` or `--flag=value`."""
    upgraded = []
    for argument in arguments:
        flag, equals, value = argument.partition("=")
        if flag in FLAGS:
            warn(flag, FLAGS[flag])
            argument = FLAGS[flag] + equals + value
        upgraded.append(argument)
    return upgraded


def stored_name(name: str, stored: Collection[str]) -> str:
    """The name under which a file of weights holds a parameter: today's, else the one of earlier versions."""
    if name in stored:
        return name
    parts = name.split(".")
    place = 1 if parts[0] in MEMBERS and len(parts) > 1 else 0
    parts[place] = MODULES.get(parts[place], parts[place])
    former = ".".join(parts)
    return former if former in stored else name


def _contents(data: dict[str, Any], section: str) -> list[tuple[str, dict[str, Any]]]:
    """The mappings that a section of the table names, each with the beginning of its dotted keys."""
    if not section:
        return [("", data)]
    named = (
        (key, value.get("name") if key in ("model", "bundle") else key, value)
        for key, value in data.items()
        if isinstance(value, dict)
    )
    return [(f"{key}.", value) for key, name, value in named if name == section]
