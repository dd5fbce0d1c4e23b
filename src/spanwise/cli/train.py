"""`spanwise train`: a recipe in, a model folder out."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanwise.cli.app import app, emit_json, err, out
from spanwise.cli.signals import StopSignals, handled
from spanwise.errors import TrainingStopped

if TYPE_CHECKING:
    from spanwise.corpora.options import DataOptions

STOPPING = "\nstopping after this step; Ctrl-C again exits at once and saves nothing\n"


@app.command()
def train(
    recipe: Annotated[
        Path, typer.Argument(help="A recipe file (see `spanwise init`), or the name of a shipped recipe.")
    ],
    folder: Annotated[Path, typer.Option("--out", help="The folder of the model; an interrupted run continues there.")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a key: --set train.seed=2; append: --set data.train+=b.jsonl"),
    ] = None,
    shots: Annotated[
        int | None, typer.Option(min=1, help="Train on N documents per label, sampled with train.seed.")
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", help="Start from the weights of a trained model: a folder, or general."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Start anew in a folder that holds a run; that run is deleted.")
    ] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; default: all cores.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Train a model from a recipe. Ctrl-C saves a checkpoint; the same command resumes the run.

    Example: spanwise train recipe.yaml --set train.seed=2 --out runs/mine
    Example: spanwise train recipe.yaml --from general --out runs/mine
    """
    from dataclasses import asdict

    from spanwise import runtime
    from spanwise.recipe import Recipe, find_recipe
    from spanwise.training.display import LiveDisplay
    from spanwise.training.run import train as run

    few = [] if shots is None else [f"data.shots={shots}"]
    start = [] if from_ is None else [f"train.start={json.dumps(from_)}"]
    loaded = Recipe.load(find_recipe(recipe), [*(set_ or ()), *few, *start])
    runtime.set_threads(threads)
    with stoppable() as stop, LiveDisplay(err) as display:
        summary = run(loaded, folder, display, force=force, stop=stop)
    if not runtime.is_main_process():
        return
    if as_json:
        emit_json({"folder": str(folder), **asdict(summary)})
        return
    score = f", {summary.selected_by} {100 * (summary.dev_f1 or 0):.2f} (epoch {summary.best_epoch})"
    _print(f"trained {folder} in {summary.seconds:,.0f} s{score if summary.selected_by else ''}")
    test = [] if _has_test_split(loaded.data) else ["TEST_FILE", *_reading_options(loaded.data)]
    _print(f"next: {shlex.join(['spanwise', 'evaluate', str(folder), *test])}")


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """INT, TERM and HUP as a request to stop training; a stopped run ends with the command that resumes it."""
    from spanwise.runtime import is_main_process

    signals = StopSignals(STOPPING if is_main_process() else "")
    try:
        with handled(signals.receive):
            yield signals.is_requested
    except TrainingStopped as stopped:
        if is_main_process():
            with suppress(OSError):  # the terminal may be gone: that is what HUP says
                _tell(f"stopped after step {stopped.step:,} of {stopped.steps:,}; checkpoint: {stopped.checkpoint}")
                _tell(f"resume: {_resuming_command()}")
        raise typer.Exit(signals.exit_code) from None


def _resuming_command() -> str:
    """The command that was given, which must not start anew."""
    from spanwise.runtime import process_count

    if process_count() > 1:
        return "the same command, with the same launcher" + (", without --force" if "--force" in sys.argv else "")
    return shlex.join(["spanwise", *(part for part in sys.argv[1:] if part != "--force")])


def _has_test_split(data: DataOptions) -> bool:
    """Whether `spanwise evaluate` finds a test split in the recipe."""
    from spanwise.corpora.catalog import CORPORA

    if "test" in data.train_on:
        return False
    if data.corpus is None:
        return bool(data.test)
    name = data.corpus.partition("/")[0]
    return any("test" in cut for named in CORPORA if named.name == name for cut in (named.splits, *named.folds))


def _reading_options(data: DataOptions) -> list[str]:
    """The options with which `spanwise evaluate` reads a file as the recipe reads its own."""
    columns = ",".join(map(str, data.tag_columns))
    named = {"--format": data.format, "--tag-columns": columns, "--annotator": data.annotator}
    return [part for option, value in named.items() if value for part in (option, value)]


def _print(line: str) -> None:
    out.print(line, markup=False, soft_wrap=True)


def _tell(line: str) -> None:
    err.print(line, markup=False, soft_wrap=True)
