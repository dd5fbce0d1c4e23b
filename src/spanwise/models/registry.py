"""Models by name, through the entry-point group `spanwise.models`: ours are found like anybody's."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from spanwise.errors import RecipeError
from spanwise.models.base import SpanModel


@cache
def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group="spanwise.models")}


def names() -> list[str]:
    return sorted(_entries())


@cache
def find(name: str) -> type[SpanModel]:
    """The model class of this name."""
    entry = _entries().get(name)
    if entry is None:
        raise RecipeError(f"there is no model {name!r}; there are {', '.join(names())} (see `spanwise models`).")
    found = entry.load()
    if not (isinstance(found, type) and issubclass(found, SpanModel)):
        raise RecipeError(f"model {name!r} is not a SpanModel; correct its entry point {entry.value!r}.")
    return found
