"""Spans by offsets as annotation tools store them: in UTF-16 units, with spaces at their borders, and linked by ids."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.errors import FormatError
from spanwise.formats.fields import short_repr
from spanwise.formats.report import Report

UTF16 = "document with offsets in UTF-16 units"
_SPACES = "space at the border of an entity"
_EMPTY = "entity of nothing but white space"
_LAST_OF_BMP = "\uffff"
Bounds = tuple[int, int]


class Mark(NamedTuple):
    """A span with its label. `surface` is the text that the tool says it covers; `id` is what links name it by."""

    start: int
    end: int
    label: str
    surface: str | None = None
    id: Hashable = None
    score: float = 1.0


class Link(NamedTuple):
    """A relation between the marks with these ids."""

    head: Hashable
    tail: Hashable
    label: str
    score: float = 1.0


@dataclass(frozen=True)
class Standoff:
    """A text and what a tool stores beside it."""

    text: str
    marks: Sequence[Mark]
    links: Sequence[Link] = ()
    words: Sequence[Mark] = ()

    def document(self, report: Report, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
        """The document; what had to be repaired is counted."""
        text = self.text
        bounds = fit(text, [*self.marks, *self.words], report)
        entities: list[Entity] = []
        places: dict[Hashable, int] = {}
        empty: set[Hashable] = set()
        for mark, (start, end) in zip(self.marks, bounds, strict=False):
            start, end = trimmed(text, start, end, report)
            if start == end:
                report.drop(_EMPTY)
                empty.add(mark.id)
                continue
            places.setdefault(mark.id, len(entities))
            entities.append(Entity(start, end, mark.label, mark.score))
        relations = _relations(self.links, places, empty, report)
        words = _words(text, bounds[len(self.marks) :], report)
        return Document(text, words, tuple(entities), relations, id, metadata or {})


def fit(text: str, marks: Sequence[Mark], report: Report) -> list[Bounds]:
    """The bounds of the marks in characters: as they are, or read as UTF-16 units if only these agree with the text."""
    plain = [(mark.start, mark.end) for mark in marks]
    wrong = _disagreeing(text, marks, plain)
    if wrong is None:
        return plain
    if max(text, default="") > _LAST_OF_BMP:
        to_character = utf16_positions(text)
        units = [(to_character(start), to_character(end)) for start, end in plain]
        if _disagreeing(text, marks, units) is None:
            report.repair(UTF16)
            return units
    raise _disagreement(text, wrong)


def utf16_positions(text: str) -> Callable[[int], int]:
    """From an offset in UTF-16 units to one in characters; -1 outside the text and inside a character."""
    positions, unit = {0: 0}, 0
    for index, character in enumerate(text, 1):
        unit += 2 if character > _LAST_OF_BMP else 1
        positions[unit] = index
    return lambda offset: positions.get(offset, -1)


def _disagreeing(text: str, marks: Sequence[Mark], bounds: Iterable[Bounds]) -> Mark | None:
    """The first mark whose bounds do not hold the text that the tool says it covers."""
    for mark, (start, end) in zip(marks, bounds, strict=True):
        if not 0 <= start <= end <= len(text):
            return mark
        if mark.surface is not None and _flat(text[start:end]) != _flat(mark.surface):
            return mark
    return None


def _disagreement(text: str, mark: Mark) -> FormatError:
    where = f"the entity {short_repr(mark.label)} at {mark.start} to {mark.end}"
    if mark.surface is None or not 0 <= mark.start <= mark.end <= len(text):
        return FormatError(f"{where} does not lie in the text of {len(text):,} characters; correct its offsets.")
    return FormatError(
        f"{where} should be {short_repr(mark.surface)}, but there the text is "
        f"{short_repr(text[mark.start : mark.end])}; the text must not change after annotation."
    )


def _flat(text: str) -> str:
    """The text whatever its white space: exports change it."""
    return "".join(text.split())


def trimmed(text: str, start: int, end: int, report: Report) -> Bounds:
    """The bounds without white space at the borders; equal if there is nothing else."""
    covered = text[start:end]
    first, last = end - len(covered.lstrip()), start + len(covered.rstrip())
    if first >= last:
        return start, start
    report.repair(_SPACES, (first, last) != (start, end))
    return first, last


def _words(text: str, bounds: Iterable[Bounds], report: Report) -> tuple[Offsets, ...]:
    """The tokens that are more than white space; none if they overlap, as they do in some exports."""
    words = [Offsets(*word) for word in bounds if text[slice(*word)].strip()]
    if any(one.end > two.start for one, two in pairwise(words)):
        report.drop("words of a text, for they overlap")
        return ()
    return tuple(words)


def _relations(
    links: Iterable[Link], places: Mapping[Hashable, int], empty: set[Hashable], report: Report
) -> tuple[Relation, ...]:
    relations = []
    for link in links:
        missing = [id for id in (link.head, link.tail) if id not in places]
        if any(id not in empty for id in missing):
            raise FormatError(
                f"the relation {short_repr(link.label)} joins {short_repr(missing[0])}, which is not an entity of this "
                f"text; correct or remove it."
            )
        if missing:
            report.drop("relation of a dropped entity")
            continue
        relations.append(Relation(places[link.head], places[link.tail], link.label, link.score))
    return tuple(relations)
