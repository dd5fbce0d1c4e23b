"""Markup that all parts of the page share."""

from __future__ import annotations

from html import escape


def escaped(text: str) -> str:
    """Escape text for content and attributes, carriage returns too: parsers would turn them into newlines."""
    return escape(text, quote=True).replace("\r", "&#13;").replace("\0", "\ufffd")


def chip(classes: str, name: str, label: str, description: str, count: int) -> str:
    """A label in a legend, with a checkbox whose id contains `name`."""
    return (
        f'<label class="chip {classes}" title="{escaped(description or label)}">'
        f'<input type="checkbox" id="show-{name}" checked>{escaped(label)} '
        f'<span class="count">{count:,}</span></label>'
    )
