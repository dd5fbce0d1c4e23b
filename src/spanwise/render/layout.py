"""Split overlapping spans into properly nested pieces, because markup cannot represent crossing spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spanwise.document import Entity


@dataclass(frozen=True, slots=True)
class Open:
    """The start of a piece of an entity. `height` is the number of nesting levels from this piece inward.

    An entity that crosses another has several pieces; `begins` and `ends` tell whether this is its first or last one.
    """

    entity: int
    height: int
    begins: bool
    ends: bool


@dataclass(frozen=True, slots=True)
class Close:
    """The end of the piece that was opened last."""


@dataclass(frozen=True, slots=True)
class Text:
    """Characters between two borders, half-open."""

    start: int
    end: int


Token = Open | Close | Text


@dataclass
class _Piece:
    entity: int
    place: int
    begins: bool
    inside: int = 0


def nested_pieces(length: int, entities: Sequence[Entity]) -> list[Token]:
    """The characters of the text in order, with each entity opened and closed around them.

    Where two spans cross, the one that starts later is cut at the other's end and continues in a second piece.
    """
    order = sorted(range(len(entities)), key=lambda index: (entities[index].start, -entities[index].end, index))
    tokens: list[Token] = []
    stack: list[_Piece] = []
    cursor = upcoming = 0
    borders = sorted({0, length, *(e.start for e in entities), *(e.end for e in entities)})
    for border in borders:
        if border > cursor:
            tokens.append(Text(cursor, border))
            cursor = border
        _close(tokens, stack, entities, border)
        while upcoming < len(order) and entities[order[upcoming]].start == border:
            _open(tokens, stack, order[upcoming], begins=True)
            upcoming += 1
    return tokens


def _open(tokens: list[Token], stack: list[_Piece], entity: int, *, begins: bool) -> None:
    stack.append(_Piece(entity, len(tokens), begins))
    tokens.append(Text(0, 0))  # placeholder, replaced when the piece closes and its height is known


def _close(tokens: list[Token], stack: list[_Piece], entities: Sequence[Entity], border: int) -> None:
    """Close the pieces that end here; pieces inside them that continue are closed and opened again."""
    ending = [place for place, piece in enumerate(stack) if entities[piece.entity].end == border]
    if not ending:
        return
    cut = []
    while len(stack) > ending[0]:
        piece = stack.pop()
        ends = entities[piece.entity].end == border
        if not ends:
            cut.append(piece.entity)
        height = piece.inside + 1
        tokens[piece.place] = Open(piece.entity, height, piece.begins, ends)
        tokens.append(Close())
        if stack:
            stack[-1].inside = max(stack[-1].inside, height)
    for entity in reversed(cut):
        _open(tokens, stack, entity, begins=False)
