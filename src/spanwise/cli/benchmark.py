"""`spanwise benchmark`: suites of runs, with a table at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanwise.cli.app import app, emit_json, err, out
from spanwise.cli.evaluate import Breakdown
from spanwise.errors import InputError

if TYPE_CHECKING:
    from spanwise.benchmark import Run
    from spanwise.benchmark.results import Result


@app.command()
def benchmark(
    suite: Annotated[str, typer.Argument(help="The name of a suite, such as bl-ner or joint.")],
    corpus: Annotated[
        str | None, typer.Option(help="The corpus to train and score on, or one fold of it, such as ade/0.")
    ] = None,
    train: Annotated[
        list[Path] | None, typer.Option(help="Your own training file instead of a corpus; may be repeated.")
    ] = None,
    dev: Annotated[
        list[Path] | None, typer.Option(help="A file of your own to choose the best epoch on; may be repeated.")
    ] = None,
    test: Annotated[list[Path] | None, typer.Option(help="A file of your own to score on; may be repeated.")] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder of results.jsonl, where a stopped suite resumes; default: benchmarks/SUITE."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs per variant, with seeds 1 to N.")] = 1,
    folds: Annotated[int | None, typer.Option(min=1, help="Run on the corpus' first N folds and average.")] = None,
    variant: Annotated[list[str] | None, typer.Option(help="Only this variant; may be repeated.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Runs in parallel, each in a process with one thread.")] = 1,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Override a key: --set train.epochs=3")] = None,
    shots: Annotated[
        int | None, typer.Option(min=1, help="Train on N documents per label, sampled with train.seed.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the trained models.")] = False,
    best: Annotated[
        bool, typer.Option("--best", help="Also show the best run and, from six seeds on, the mean of the top five.")
    ] = False,
    by: Annotated[
        list[Breakdown] | None, typer.Option(help="Also F1 by width or by nesting of entities; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Train every variant of a suite with every seed and print mean and standard deviation beside the paper's figures.

    Example: spanwise benchmark bl-ner --corpus wnut17 --seeds 3 --jobs 2 --out benchmarks/bl-ner
    Example: spanwise benchmark bl-ner --train train.jsonl --dev dev.jsonl --test test.jsonl
    """
    from dataclasses import asdict

    from spanwise import benchmark as suites

    chosen = [*(set_ or ()), *([] if shots is None else [f"data.shots={shots}"])]
    files = _files(corpus, {"train": train or [], "dev": dev or [], "test": test or []}, folds)
    corpus = corpus or suites.corpus_name(files or {})
    runs = suites.plan(suite, corpus, seeds, chosen, folds=folds, variants=variant or (), files=files)
    place = folder or Path("benchmarks", suite)
    for breakdown in by or ():
        suites.check_groups(suites.find_results(runs, place), breakdown)
    results = _run(suite, runs, place, jobs, keep)
    table = suites.summarize(suite, corpus, results, best=best or as_json)
    groups = {breakdown: suites.summarize(suite, corpus, results, by=breakdown) for breakdown in by or ()}
    comparisons = suites.compare(suite, results)
    if as_json:
        found = {"rows": [asdict(row) for row in table.rows], "comparisons": [asdict(c) for c in comparisons]}
        found |= {f"by_{breakdown}": [asdict(row) for row in grouped.rows] for breakdown, grouped in groups.items()}
        emit_json({"suite": suite, "corpus": corpus, "seeds": seeds, "folds": folds, **found})
        return
    _print(", ".join(filter(None, (table.title, table.spread))), table.header, table.body)
    for grouped in groups.values():
        header, *body = grouped.transposed
        _print(grouped.title, header, body)
    if comparisons:
        title = f"two-sided p by paired approximate randomization, {comparisons[0].trials:,} trials"
        _print(title, suites.Comparison.HEADER, [comparison.cells for comparison in comparisons])


def _files(corpus: str | None, files: dict[str, list[Path]], folds: int | None) -> dict[str, list[Path]] | None:
    """The user's own files by split, or None where a corpus is named."""
    given = any(files.values())
    if (corpus is None) != given or (given and not (files["train"] and files["test"])):
        raise InputError("give either --corpus NAME, or files of your own with --train, --test and perhaps --dev.")
    if given and folds is not None:
        raise InputError("--folds is for a corpus that comes in folds; leave it out with files of your own.")
    for path in (path for paths in files.values() for path in paths):
        if not path.exists():
            raise InputError(f"{path}: no such file or folder; check the path.")
    return files if given else None


def _run(suite: str, runs: Sequence[Run], folder: Path, jobs: int, keep: bool) -> list[Result]:
    """The results of all runs, with a line for each that had to be done."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from spanwise.benchmark import Suite, get_path, recorded, run_suite

    measure, done = Suite.load(suite).best_by, recorded(folder)
    path = Suite.load(suite).columns[measure]
    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("runs", total=len(runs), completed=sum(run.name in done for run in runs))

        def finished(result: Result) -> None:
            progress.advance(task)
            score = get_path(result, path)
            shown = "–" if score is None else f"{100 * score:.2f}"
            name = f"{result['variant']}, {result['corpus']}, seed {result['seed']}"
            line = f"{name}: {result['split']} {measure} {shown}, {result['seconds']:.0f} s"
            err.print(line, markup=False, soft_wrap=True)

        return run_suite(runs, folder, jobs=jobs, keep=keep, finished=finished)


def _print(title: str, header: Sequence[str], body: Iterable[Sequence[str]]) -> None:
    from rich.table import Table

    table = Table(*header, title=title)
    for cells in body:
        table.add_row(*cells)
    out.print(table)
