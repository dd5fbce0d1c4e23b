"""Markup that all parts of the page share."""

from __future__ import annotations

from html import escape

from rich.cells import cell_len, set_cell_size

LABEL_CELLS = 28  # as wide a label as fits beside a word on a phone


def escaped(text: str) -> str:
    """Escape text for content and attributes, carriage returns too: parsers would turn them into newlines."""
    return escape(text, quote=True).replace("\r", "&#13;").replace("\0", "\ufffd")


def short(label: str) -> str:
    """A label no wider than a line of a phone; whoever shows it has the whole label as its title."""
    return label if cell_len(label) <= LABEL_CELLS else set_cell_size(label, LABEL_CELLS - 1).rstrip() + "…"


def chip(classes: str, name: str, label: str, description: str, count: int) -> str:
    """A label in a legend, with a checkbox whose id contains `name`. The style cuts a label wider than the page."""
    title = f"{label}: {description}" if description else label
    return (
        f'<label class="chip {classes}" title="{escaped(title)}">'
        f'<input type="checkbox" id="show-{name}" checked><span class="name">{escaped(label)}</span> '
        f'<span class="count">{count:,}</span></label>'
    )
