"""`spanwise train`: a recipe in, a model folder out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spanwise.cli.app import app, emit_json, err, out


@app.command()
def train(
    recipe: Annotated[
        Path, typer.Argument(help="A recipe file (see `spanwise init`), or the name of a shipped recipe.")
    ],
    folder: Annotated[Path, typer.Option("--out", help="The folder of the model; an interrupted run continues there.")],
    set_: Annotated[list[str] | None, typer.Option("--set", help="Override a key: --set train.seed=2")] = None,
    shots: Annotated[
        int | None, typer.Option(min=1, help="Train on N documents per label, sampled with train.seed.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; default: all cores.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Train a model from a recipe.

    Example: spanwise train recipe.yaml --set train.seed=2 --out runs/mine
    """
    from dataclasses import asdict

    from spanwise import runtime
    from spanwise.recipe import Recipe, find_recipe
    from spanwise.training.display import LiveDisplay
    from spanwise.training.run import train as run

    few = [] if shots is None else [f"data.shots={shots}"]
    loaded = Recipe.load(find_recipe(recipe), [*(set_ or ()), *few])
    runtime.set_threads(threads)
    with LiveDisplay(err) as display:
        summary = run(loaded, folder, display)
    if not runtime.is_main_process():
        return
    if as_json:
        emit_json({"folder": str(folder), **asdict(summary)})
    else:
        score = "" if summary.dev_f1 is None else f", dev F1 {100 * summary.dev_f1:.2f} (epoch {summary.best_epoch})"
        out.print(f"trained {folder} in {summary.seconds:.0f} s{score}", markup=False, soft_wrap=True)
