"""Keys and values that earlier versions wrote, and what they are called today.

Recipes, the config.json of model folders and the recipes of result lines have the same sections, so that one table
serves them all. A later rename is one more line in it.
"""

from __future__ import annotations

from typing import Any

# A section is a name such as "train", the name of a model for its own options, or "" for keys outside of sections.
KEYS: dict[tuple[str, str], str] = {}  # (section, old key): new key
VALUES: dict[tuple[str, str], tuple[object, object]] = {  # (section, today's key): (old value, new value)
    ("", "threshold"): (0.0, None),  # of a model folder
    ("evaluation", "threshold"): (0.0, None),  # the default, written out: no model of then had a threshold of its own
}


def modernized(data: dict[str, Any]) -> dict[str, Any]:
    """A copy of the sections with today's keys and values."""
    result = {key: dict(value) if isinstance(value, dict) else value for key, value in data.items()}
    for (section, old), new in KEYS.items():
        for content in _contents(result, section):
            if old in content:
                content[new] = content.pop(old)
    for (section, key), (before, now) in VALUES.items():
        for content in _contents(result, section):
            if key in content and content[key] == before:
                content[key] = now
    return result


def _contents(data: dict[str, Any], section: str) -> list[dict[str, Any]]:
    """The mappings that a section of the table names."""
    if not section:
        return [data]
    named = ((value.get("name") if key in ("model", "bundle") else key, value) for key, value in _mappings(data))
    return [value for name, value in named if name == section]


def _mappings(data: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(key, value) for key, value in data.items() if isinstance(value, dict)]
