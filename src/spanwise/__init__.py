"""Text to typed spans and the relations between them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.schema import EntityType, RelationType, Schema

if TYPE_CHECKING:
    from spanwise.client import AsyncClient, Client
    from spanwise.corpora import Corpus
    from spanwise.corpora import load as load_corpus
    from spanwise.evaluation import evaluate
    from spanwise.inference.extractor import Extractor
    from spanwise.pipeline.adapters import SharedEncoder
    from spanwise.recipe import Recipe
    from spanwise.training.run import train

__version__ = "0.1.0"
__all__ = [
    "AsyncClient",
    "Client",
    "Corpus",
    "Document",
    "Entity",
    "EntityType",
    "Extractor",
    "Offsets",
    "Recipe",
    "Relation",
    "RelationType",
    "Schema",
    "SharedEncoder",
    "evaluate",
    "load_corpus",
    "train",
]

_LAZY = {  # imported when asked for: they need numpy, pydantic or torch
    "AsyncClient": ("spanwise.client", "AsyncClient"),
    "Client": ("spanwise.client", "Client"),
    "Corpus": ("spanwise.corpora", "Corpus"),
    "Extractor": ("spanwise.inference.extractor", "Extractor"),
    "Recipe": ("spanwise.recipe", "Recipe"),
    "SharedEncoder": ("spanwise.pipeline.adapters", "SharedEncoder"),
    "evaluate": ("spanwise.evaluation", "evaluate"),
    "load_corpus": ("spanwise.corpora", "load"),
    "train": ("spanwise.training.run", "train"),
}


def __getattr__(name: str) -> Any:
    """Import what is slow to import only when it is asked for, so that reading files stays light."""
    if name not in _LAZY:
        raise AttributeError(f"module 'spanwise' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
