"""`spanwise models`: the installed models, and what each can do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanwise.cli.app import app, emit_json, out

if TYPE_CHECKING:
    from spanwise.seam.config import ModelConfig

ABILITIES = {
    "nested": "nested entities",
    "relations": "relations",
    "multi_label": "several labels per span",
    "open_labels": "new labels",
}


@app.command()
def models(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """List the models, what each can do and its options.

    Example: spanwise models --json
    """
    from rich.table import Table

    from spanwise.seam.registry import find_model, model_names

    found = {name: find_model(name) for name in model_names()}
    if as_json:
        emit_json({"models": {name: _described(model.summary, model.Config()) for name, model in found.items()}})
        return
    table = Table("model", "what it does", "can predict", "options (default)")
    table.columns[0].no_wrap = True
    for name, model in found.items():
        config = model.Config()
        options = ", ".join(f"{key} ({value})" for key, value in config.model_dump().items())
        table.add_row(name, model.summary, "\n".join(_abilities(config)), options)
    out.print(table)
    out.print("Any tagger can be bundled with a span model and the reverse: see `bundle` in a recipe.")


def _described(summary: str, config: ModelConfig) -> dict[str, Any]:
    """A model in JSON: its traits are those of the default options."""
    from dataclasses import asdict

    return {"summary": summary, "traits": asdict(config.traits()), "options": config.model_dump(mode="json")}


def _abilities(config: ModelConfig) -> Iterator[str]:
    """What a model can predict beyond flat entities, by default or with one of its options."""
    switches = [key for key, value in config if value is False]
    for trait, title in ABILITIES.items():
        able = (key for key in switches if getattr(config.model_copy(update={key: True}).traits(), trait))
        if getattr(config.traits(), trait):
            yield title
        elif switch := next(able, None):
            yield f"{title} (with {switch})"
