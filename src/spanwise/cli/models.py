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
    "open_relations": "new relations",
}


@app.command()
def models(
    name: Annotated[str | None, typer.Argument(help="A model, to list its options.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """List the models and what each can predict, or the options of one model.

    Example: spanwise models
    Example: spanwise models dspert
    """
    from rich.table import Table

    from spanwise.seam.registry import find_model, model_names

    found = {each: find_model(each) for each in ([name] if name else model_names())}
    if as_json:
        emit_json({"models": {each: _described(model.summary, model.Config()) for each, model in found.items()}})
        return
    if name:
        _print_options(name, found[name].summary, found[name].Config)
        return
    table = Table("model", "what it does", "can predict")
    table.columns[0].no_wrap = True
    for model_name, model in found.items():
        table.add_row(model_name, model.summary, "\n".join(_abilities(model.Config())))
    out.print(table)
    out.print("`spanwise models NAME` lists the options of a model.", markup=False)
    out.print("Any tagger can be bundled with any span model: see `bundle` in a recipe.", markup=False)


def _print_options(name: str, summary: str, kind: type[ModelConfig]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from spanwise.recipe.reference import options

    out.print(f"{name}: {summary}", markup=False)
    table = Table("option", "default", "meaning")
    for option in options(kind):
        table.add_row(f"model.{option.name}", escape(str(option.default)), escape(option.description.replace("`", "")))
    out.print(table)


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
