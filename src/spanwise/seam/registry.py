"""Models, decoders and proposers by name, through entry points, for both built-in and third-party ones."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, TypeVar

from spanwise.errors import ModelError, RecipeError, shortened

if TYPE_CHECKING:
    from spanwise.seam.decoder import Decoder
    from spanwise.seam.module import SpanModel
    from spanwise.seam.proposals import Proposer

T = TypeVar("T")
MODELS, DECODERS, PROPOSERS = "spanwise.models", "spanwise.decoders", "spanwise.proposers"


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=group)}


def model_names() -> list[str]:
    """The names of all installed models, sorted."""
    return sorted(_entries(MODELS))


@cache
def find_model(name: str) -> type[SpanModel]:
    """The model class of this name; importing it imports torch."""
    from spanwise.seam.module import SpanModel

    entry = _entries(MODELS).get(name)
    if entry is None:
        known = ", ".join(model_names())
        raise RecipeError(f"unknown model {shortened(name)!r}; choose from {known} (see `spanwise models`).")
    found = entry.load()
    if not (isinstance(found, type) and issubclass(found, SpanModel)):
        raise RecipeError(f"model {name!r} is not a SpanModel; correct its entry point {entry.value!r}.")
    return found


def find_decoder(kind: str) -> type[Decoder]:
    """The decoder class that a model folder names."""
    return _component(DECODERS, kind)


def find_proposer(kind: str) -> type[Proposer]:
    """The proposer class that a model folder names."""
    return _component(PROPOSERS, kind)


def _component(group: str, kind: str) -> type[T]:
    entry = _entries(group).get(kind)
    if entry is None:
        raise ModelError(f"the model needs {kind!r} from the group {group!r}; install the package that provides it.")
    found: type[T] = entry.load()
    return found
