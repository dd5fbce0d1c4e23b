"""Parts of a model that are stored in its folder as plain JSON: decoders and proposers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Self

from pydantic import TypeAdapter

Stored = dict[str, object]


@dataclass(frozen=True)
class Component:
    """A frozen dataclass of plain values, registered under the name `kind`."""

    kind: ClassVar[str]

    def to_dict(self) -> Stored:
        """Plain values, from which `from_dict` restores the component."""
        values = TypeAdapter(type(self)).dump_python(self, mode="json")
        return {"kind": self.kind, **{field.name: values[field.name] for field in fields(self)}}

    @classmethod
    def from_dict(cls, stored: Mapping[str, object]) -> Self:
        return TypeAdapter(cls).validate_python({name: value for name, value in stored.items() if name != "kind"})
