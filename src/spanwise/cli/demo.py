"""`spanwise demo`: the whole way once, on data that ships with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spanwise.cli.app import app, emit_json, err, out


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--out", help="Folder for the model and the page.")] = Path("demo"),
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; default: all cores.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Train on a small corpus of invented news, score, then mark spans and relations in an unseen text.

    Example: spanwise demo --out demo
    """
    from spanwise import runtime
    from spanwise.cli.evaluate import print_scores
    from spanwise.demo.showcase import run_demo
    from spanwise.render.terminal import to_terminal
    from spanwise.training.display import LiveDisplay

    runtime.set_threads(threads)
    with LiveDisplay(err) as display:
        shown = run_demo(folder, display)
    if as_json:
        emit_json({**shown.scores.to_dict(), "page": str(shown.page), "model": str(shown.model)})
        return
    out.print("\n[bold]Scores on the demo's test sentences[/] (strict, nested entities included)")
    print_scores(shown.scores)
    out.print("\n[bold]An unseen text[/]\n")
    for document in shown.unseen:
        out.print(to_terminal(document, schema=shown.schema))
        out.print()
    out.print(f"The page with the same spans and relations: {shown.page}", markup=False, soft_wrap=True)
    out.print(f"Try your own: echo 'Your text.' | spanwise predict {shown.model} --lines", markup=False, soft_wrap=True)
