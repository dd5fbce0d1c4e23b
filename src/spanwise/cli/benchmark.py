"""`spanwise benchmark`: suites of runs, with a table at the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanwise.cli.app import app, emit_json, err, out

if TYPE_CHECKING:
    from spanwise.benchmark import Row


@app.command()
def benchmark(
    suite: Annotated[str, typer.Argument(help="bl-ner, bl-ner-alpha, bl-ner-tagging or bl-ner-spans.")],
    corpus: Annotated[str, typer.Option(help="The corpus to train and score on.")],
    folder: Annotated[Path, typer.Option("--out", help="Where results.jsonl grows; a stopped suite goes on there.")],
    seeds: Annotated[int, typer.Option(min=1, help="Runs per variant, with seeds 1 to N.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time, each a process with one thread.")] = 1,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Override a key: --set train.epochs=3")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the trained models.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Train every variant of a suite with every seed and print mean and standard deviation beside the paper's figures.

    Example: spanwise benchmark bl-ner --corpus wnut17 --seeds 3 --jobs 2 --out benchmarks/bl-ner
    """
    from dataclasses import asdict

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from spanwise import benchmark as suites

    runs = suites.plan(suite, corpus, seeds, set_ or ())
    done = suites.recorded(folder)
    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("runs", total=len(runs), completed=sum(run.key in done for run in runs))

        def finished(result: dict[str, Any]) -> None:
            progress.advance(task)
            err.print(f"{_run_name(result)}: test F1 {100 * result['test']['f1']:.2f}, {result['seconds']:.0f} s")

        results = suites.run_suite(runs, folder, jobs=jobs, keep=keep, finished=finished)
    rows = suites.summarize(suite, corpus, results)
    if as_json:
        emit_json({"suite": suite, "corpus": corpus, "rows": [asdict(row) for row in rows]})
    else:
        _print(f"{suites.Suite.load(suite).title}, {corpus} test", rows)


def _run_name(result: dict[str, Any]) -> str:
    return f"{result['variant']}, seed {result['seed']}"


def _print(title: str, rows: list[Row]) -> None:
    from rich.table import Table

    table = Table("model", "runs", "P", "R", "F1", "paper P / R / F1", title=title)
    for row in rows:
        paper = " / ".join(f"{value:.2f}" for value in row.paper) if row.paper else "–"
        table.add_row(row.variant, str(row.runs), *(row.cell(key) for key in ("precision", "recall", "f1")), paper)
    out.print(table)
