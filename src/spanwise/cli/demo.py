"""`spanwise demo`: the whole way once, on data that ships with the package."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import which
from typing import Annotated

import typer

from spanwise.cli.app import app, emit_json, err, out
from spanwise.cli.train import stoppable


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--out", help="Folder for the model and the page.")] = Path("demo"),
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; default: all cores.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Find labels without training; then train on a small corpus of invented news, score, and mark an unseen text.

    Ctrl-C saves a checkpoint; the same command resumes the training.

    Example: spanwise demo --out demo
    """
    from spanwise import corpora, runtime
    from spanwise.cli.evaluate import print_scores
    from spanwise.demo.any_labels import any_labels
    from spanwise.demo.introduction import introduction
    from spanwise.demo.showcase import show_demo, train_demo
    from spanwise.render.terminal import to_terminal
    from spanwise.training.display import LiveDisplay

    runtime.set_threads(threads)
    corpus = corpora.load("demo")
    for part in (*any_labels(), *introduction(corpus)):
        err.print(part)
    with stoppable() as stop, LiveDisplay(err) as display:
        train_demo(folder, corpus, display, stop)
    shown = show_demo(folder, corpus)
    if as_json:
        emit_json({**shown.scores.to_dict(), "page": str(shown.page), "model": str(shown.model)})
        return
    out.print("\n[bold]Scores on the demo's test sentences[/] (strict, nested entities included)")
    print_scores(shown.scores)
    out.print("\n[bold]An unseen text[/]\n")
    for document in shown.unseen:
        out.print(to_terminal(document, schema=shown.schema))
        out.print()
    out.print("[bold]Next[/]")
    for purpose, action in _next_steps(shown.page, shown.model):
        out.print(f"{purpose}:\n  {action}", markup=False, soft_wrap=True)


def _next_steps(page: Path, model: Path) -> list[tuple[str, str]]:
    program = "spanwise" if which("spanwise") else f"{sys.executable} -m spanwise"
    return [
        ("Open the page with the same spans and relations", str(page)),
        ("Mark your own text", f"{program} predict {model} notes.txt"),
        ("Write a recipe for your own labeled files", f"{program} init train.jsonl dev.jsonl --out recipe.yaml"),
        ("Train with it", f"{program} train recipe.yaml --out runs/mine"),
    ]
