"""The command line: one verb per file, all on one typer app, listed in the order of a user's way."""

from __future__ import annotations

from spanwise.cli import (  # noqa: F401
    agreement,
    analyze,
    attention,
    benchmark,
    convert,
    corpora,
    demo,
    evaluate,
    export,
    extract,
    init,
    inspect,
    models,
    predict,
    serve,
    split,
    suggest,
    train,
    tune,
    vectors,
)
from spanwise.cli.app import app, main

__all__ = ["app", "main"]
