"""Pieces of markup that every part of the page is made of."""

from __future__ import annotations

from html import escape


def escaped(text: str) -> str:
    """Safe in text and in attributes; carriage returns survive the parser, which would turn them into newlines."""
    return escape(text, quote=True).replace("\r", "&#13;").replace("\0", "\ufffd")


def chip(classes: str, name: str, label: str, description: str, count: int) -> str:
    """A label in a legend, with a box to untick by this name."""
    return (
        f'<label class="chip {classes}" title="{escaped(description or label)}">'
        f'<input type="checkbox" id="show-{name}" checked>{escaped(label)} '
        f'<span class="count">{count:,}</span></label>'
    )
