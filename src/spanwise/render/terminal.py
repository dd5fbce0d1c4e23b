"""Spans in a terminal: the text with labeled brackets below its lines, then one line per relation.

Readable without color.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

from spanwise.document import Document, Entity
from spanwise.render.lanes import Drawing, rows, wrapped
from spanwise.render.palette import TERMINAL_COLORS, color_indices
from spanwise.render.relations import arrow, symmetric_labels
from spanwise.schema import Schema

_RIGHT_TO_LEFT = {"R", "AL", "AN"}


def to_terminal(document: Document, schema: Schema | None = None) -> TerminalDocument:
    """A `rich` renderable of a document; colors follow the schema's order of labels."""
    indices = color_indices([document], schema)
    colors = {label: TERMINAL_COLORS[index % len(TERMINAL_COLORS)] for label, index in indices.items()}
    return TerminalDocument(document, colors, symmetric_labels(schema))


@dataclass(frozen=True)
class TerminalDocument:
    """A document that adapts its layout to the width of the console."""

    document: Document
    colors: Mapping[str, str]
    symmetric: frozenset[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        text = _printable(self.document.text)
        labels = [_printable(entity.label).replace("\n", " ") for entity in self.document.entities]
        widest = max(map(cell_len, labels), default=0)
        # Terminals reorder right-to-left text, so brackets would not line up. Labels also need room beside brackets.
        if options.max_width < 3 * widest + 3 or any(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT for c in text):
            yield from self._listed(text, labels, widest)
        else:
            yield from self._bracketed(text, labels, options.max_width - 1)
        yield from self._related(text)

    def _bracketed(self, text: str, labels: list[str], width: int) -> Iterator[Text]:
        painted = self._painted(text)
        for line in wrapped(text, width):
            below = rows(text, line, self.document.entities, labels, width)
            yield _unwrapped(painted[line.start : line.end])
            yield from (self._row(row) for row in below)
            if below and line.end < len(text):
                yield Text("")

    def _listed(self, text: str, labels: list[str], widest: int) -> Iterator[Text]:
        yield self._painted(text)
        for entity, label in zip(self.document.entities, labels, strict=True):
            padding = " " * (widest - cell_len(label) + 2)
            yield Text.assemble("  ", (label, self._style(entity)), padding, self._name(text, entity).plain)

    def _related(self, text: str) -> Iterator[Text]:
        if self.document.relations:
            yield Text("")
        for relation in self.document.relations:
            head, tail = (self._name(text, self.document.entities[index]) for index in (relation.head, relation.tail))
            label = _printable(relation.label).replace("\n", " ")
            yield Text(" ").join([head, Text(arrow(label, symmetric=relation.label in self.symmetric)), tail])

    def _name(self, text: str, entity: Entity) -> Text:
        return Text(text[entity.start : entity.end].replace("\n", " "), self._style(entity))

    def _painted(self, text: str) -> Text:
        """The text in the colors of its spans; inner spans override outer ones."""
        painted = Text(text)
        for entity in sorted(self.document.entities, key=lambda e: e.start - e.end):
            painted.stylize(f"bold {self._style(entity)}", entity.start, entity.end)
        return painted

    def _row(self, row: list[Drawing]) -> Text:
        line = Text()
        for drawing in sorted(row, key=lambda drawing: drawing.column):
            line.append(" " * (drawing.column - line.cell_len))
            line.append(drawing.text, self._style(self.document.entities[drawing.entity]))
        return _unwrapped(line)

    def _style(self, entity: Entity) -> str:
        return self.colors[entity.label]


def _unwrapped(line: Text) -> Text:
    line.rstrip()
    line.no_wrap, line.overflow = True, "ignore"
    return line


def _printable(text: str) -> str:
    """The text with a replacement for each character that would move the cursor or control the terminal."""
    return "".join(map(_printed, text))


def _printed(character: str) -> str:
    if character in "\n\u2028\u2029\x85":
        return "\n"
    if character == "\t":
        return " "
    return "\ufffd" if unicodedata.category(character) in {"Cc", "Cs"} else character
