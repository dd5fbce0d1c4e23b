"""Text to typed spans and the relations between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.schema import EntityType, RelationType, Schema

if TYPE_CHECKING:
    from spanwise.inference.extractor import Extractor

__version__ = "0.1.0"
__all__ = ["Document", "Entity", "EntityType", "Extractor", "Offsets", "Relation", "RelationType", "Schema"]


def __getattr__(name: str) -> Any:
    """Import what needs torch only when it is asked for, so that reading files stays light."""
    if name == "Extractor":
        from spanwise.inference.extractor import Extractor

        return Extractor
    raise AttributeError(f"module 'spanwise' has no attribute {name!r}")
