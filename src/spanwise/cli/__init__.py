"""The command line: one verb per file, all on one typer app, listed in the order of a user's way."""

from __future__ import annotations

from spanwise.cli.app import app, main
from spanwise.cli import convert, corpora, inspect, models, train, evaluate, predict, benchmark  # noqa: F401, I001

__all__ = ["app", "main"]
