"""Render documents in a terminal or as an HTML page."""

from __future__ import annotations

from spanwise.render.html import to_html, write_html
from spanwise.render.terminal import to_terminal

__all__ = ["to_html", "to_terminal", "write_html"]
