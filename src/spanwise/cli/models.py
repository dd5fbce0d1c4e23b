"""`spanwise models`: what there is, with what each can do."""

from __future__ import annotations

from typing import Annotated

import typer

from spanwise.cli.app import app, emit_json, out


@app.command()
def models(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """List the models, what each can do and its options.

    Example: spanwise models --json
    """
    from dataclasses import asdict

    from rich.table import Table

    from spanwise.models.registry import find, names

    found = {name: find(name) for name in names()}
    if as_json:
        rows = {
            name: {
                "summary": model.summary,
                "can": {"flat": True, **asdict(model.can)},
                "options": {key: field.default for key, field in model.Config.model_fields.items()},
            }
            for name, model in found.items()
        }
        emit_json({"models": rows})
        return
    table = Table("model", "what it does", "nested", "relations", "options (default)")
    for name, model in found.items():
        options = ", ".join(f"{key} ({field.default})" for key, field in model.Config.model_fields.items())
        table.add_row(
            name, model.summary, *("yes" if able else "no" for able in (model.can.nested, model.can.relations)), options
        )
    out.print(table)
    out.print("Any tagger can be bundled with a span model and the reverse: see `bundle` in a recipe.")
