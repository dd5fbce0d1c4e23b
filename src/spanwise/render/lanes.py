"""Labeled brackets under a line of text, each in the first row where it fits. Inner spans are nearest to the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rich.cells import cell_len

from spanwise.document import Entity, Offsets


@dataclass(frozen=True, slots=True)
class Drawing:
    """Text in a row, starting at a column, in the color of the entity with index `entity`."""

    column: int
    text: str
    entity: int

    @property
    def end(self) -> int:
        return self.column + cell_len(self.text)


def wrapped(text: str, width: int) -> Iterator[Offsets]:
    """Lines of at most `width` cells, broken after spaces where possible; each character is in exactly one line."""
    start = cut = cells = 0
    for index, character in enumerate(text):
        cells += cell_len(character)
        while cells > width and index > start and character not in " \n":
            cut = cut if cut > start else index
            yield Offsets(start, cut)
            start, cells = cut, cell_len(text[cut : index + 1])
        if character in " \n":
            cut = index + 1
        if character == "\n":
            yield Offsets(start, cut)
            start, cells = cut, 0
    if start < len(text):
        yield Offsets(start, len(text))


def rows(
    text: str, line: Offsets, entities: Sequence[Entity], labels: Sequence[str], width: int
) -> list[list[Drawing]]:
    """The rows of drawings under this line of the text."""
    columns = list(accumulate((cell_len(c) for c in text[line.start : line.end]), initial=0))
    touching = [i for i, e in enumerate(entities) if e.start < line.end and e.end > line.start]
    lanes: list[list[Drawing]] = []
    for index in sorted(touching, key=lambda i: (entities[i].end - entities[i].start, entities[i].start, i)):
        entity = entities[index]
        # Spaces at the end of a line may exceed the width; brackets under them may not.
        first = min(columns[max(entity.start, line.start) - line.start], width - 1)
        last = min(columns[min(entity.end, line.end) - line.start], width)
        begins, ends = entity.start >= line.start, entity.end <= line.end
        bracket = _bracket(max(1, last - first), begins, ends, labels[index] if begins else "")
        options = [Drawing(first, bracket, index)]
        if begins and labels[index] not in bracket:
            options = _labeled(options[0], labels[index], width)
        _place(lanes, options)
    return lanes


def _bracket(width: int, begins: bool, ends: bool, label: str) -> str:
    """A bracket of this width, with the label inside if it fits; a side that continues on another line is left open."""
    left, right = "╰" if begins else "─", "╯" if ends else "─"
    if width == 1:
        return "╵"
    inner = width - 2
    if label and cell_len(label) <= inner - 4:
        return f"{left}─ {label} {'─' * (inner - cell_len(label) - 2 - 1)}{right}"
    if label and cell_len(label) <= inner:
        return left + label + "─" * (inner - cell_len(label)) + right
    return left + "─" * inner + right


def _labeled(bracket: Drawing, label: str, width: int) -> list[Drawing]:
    """The bracket with its label after it and before it, as far as these fit in the line; if neither fits, after it."""
    after = Drawing(bracket.column, bracket.text + label, bracket.entity)
    before = Drawing(bracket.column - cell_len(label), label + bracket.text, bracket.entity)
    return [option for option in (after, before) if option.column >= 0 and option.end <= width] or [after]


def _place(lanes: list[list[Drawing]], options: list[Drawing]) -> None:
    for lane in lanes:
        for option in options:
            if all(option.end < other.column or other.end < option.column for other in lane):
                lane.append(option)
                return
    lanes.append([options[0]])
