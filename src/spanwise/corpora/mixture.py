"""Several corpora at once, each with its own labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from spanwise.corpora.options import DataOptions
from spanwise.corpora.selection import Selection, select
from spanwise.errors import RecipeError
from spanwise.schema import EntityType, Schema
from spanwise.text.alignment import AlignedDocument
from spanwise.text.profile import DataProfile, profile


@dataclass(frozen=True, eq=False)
class Mixture:
    """The selections of several corpora, as one to profile and to store."""

    parts: tuple[Selection, ...]
    temperature: float

    @property
    def name(self) -> str:
        return ", ".join(part.name for part in self.parts)

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that any of the corpora can be scored on."""
        return tuple(dict.fromkeys(split for part in self.parts for split in part.splits))

    @cached_property
    def schema(self) -> Schema:
        """The labels of all corpora in plain words; the first corpus that has a label describes it."""
        kinds: dict[str, EntityType] = {}
        for part in self.parts:
            for kind in part.schema.entities:
                kinds.setdefault(kind.plain_name, replace(kind, name=kind.plain_name, title=""))
        return Schema(tuple(kinds.values()))

    @cached_property
    def train(self) -> tuple[AlignedDocument, ...]:
        return tuple(row for part in self.parts for row in part.train)

    @cached_property
    def profile(self) -> DataProfile:
        return profile(self.train)

    def split(self, name: str) -> tuple[AlignedDocument, ...]:
        """The documents of a split, of every corpus that has it."""
        return tuple(row for part in self.parts if name in part.splits for row in part.split(name))


def mix(options: DataOptions, *, seed: int) -> Mixture:
    """Read every corpus of a recipe and draw from it what its options ask for."""
    parts = tuple(select(part, seed=seed) for part in options.corpora)
    if repeated := _repeated(part.name for part in parts):
        raise RecipeError(f"data.corpora names {repeated!r} twice; name each corpus once.")
    return Mixture(parts, options.temperature)


def _repeated(names: Iterable[str]) -> str | None:
    listed: Sequence[str] = list(names)
    return next((name for name in listed if listed.count(name) > 1), None)
