"""The command line: one verb per file, all on one typer app."""

from __future__ import annotations

from spanwise.cli.app import app, main
from spanwise.cli import convert, corpora, inspect  # noqa: F401, I001  (imported for the verbs they register, in this order)

__all__ = ["app", "main"]
