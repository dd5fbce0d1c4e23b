"""Overlapping spans as properly nested pieces, which is all that markup can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spanwise.document import Entity


@dataclass(frozen=True, slots=True)
class Open:
    """A piece of an entity begins. `height` counts the levels of pieces from here inwards.

    An entity has one piece unless it crosses another; then the pieces that do not begin or end it say so.
    """

    entity: int
    height: int
    begins: bool
    ends: bool


@dataclass(frozen=True, slots=True)
class Close:
    """The piece that was opened last ends."""


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
    """The text's characters in order, with every entity opened and closed around them.

    Where two spans cross, the one that starts later is cut at the other's end and goes on in a second piece.
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
    tokens.append(Text(0, 0))  # its place; filled when the piece closes and its height is known


def _close(tokens: list[Token], stack: list[_Piece], entities: Sequence[Entity], border: int) -> None:
    """Close what ends here; pieces that were opened inside it and go on are cut and opened again."""
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
