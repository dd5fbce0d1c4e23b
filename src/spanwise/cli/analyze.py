"""`spanwise analyze`: when and why systems err, as a page, as numbers and as charts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanwise.cli.app import app, emit_json, err, out
from spanwise.cli.reports import print_report
from spanwise.errors import InputError, shortened
from spanwise.plural import counted

if TYPE_CHECKING:
    from rich.progress import Progress

    from spanwise.analysis import Analysis
    from spanwise.document import Document
    from spanwise.formats import Report
    from spanwise.render.elements import Table
    from spanwise.schema import Schema

_MOST_SAMPLES = 100_000
_SUFFIXES = {".jsonl", ".ndjson", ".json", ".conll", ".txt", ".tsv", ".gz"}


class Buckets(StrEnum):
    """How entities are grouped by an attribute."""

    PAPER = "paper"
    QUANTILES = "quantiles"


@app.command()
def analyze(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="GOLD PRED...", help="Labeled data, then predictions; with --corpus only predictions."),
    ],
    corpus: Annotated[str | None, typer.Option(help="A named corpus instead of the file GOLD.")] = None,
    split: Annotated[str, typer.Option(help="The split of the corpus.")] = "test",
    train: Annotated[
        Path | None, typer.Option(help="The training data of the systems; default: that of the corpus.")
    ] = None,
    target: Annotated[Path, typer.Option("--out", help="The folder of the report.")] = Path("analysis"),
    name: Annotated[
        list[str] | None, typer.Option(help="The name of a system, in the order of the files; default: file names.")
    ] = None,
    buckets: Annotated[Buckets, typer.Option(help="Groups of attributes: the paper's, or quantiles.")] = Buckets.PAPER,
    samples: Annotated[int, typer.Option(min=1, max=_MOST_SAMPLES, help="Bootstrap samples for the intervals.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the samples and of the significance test.")] = 1,
    format: Annotated[str | None, typer.Option(help="Format of all files; default: detected.")] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip bad records and count them.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as one JSON object.")] = False,
) -> None:
    """Compare predictions with gold: scores, kinds of errors, F1 by attribute, calibration, suspicious gold.

    Writes report.html, report.json, charts as SVG, and documents to review into a folder. Two or more systems are
    compared with each other. Any format can be read, also the output of other tools.

    Example: spanwise analyze test.jsonl predictions.jsonl --train train.jsonl
    Example: spanwise analyze --corpus conll04 spert.jsonl span.jsonl --name SpERT --name SPAN --out report
    """
    from spanwise.analysis import analyze as analyze_systems
    from spanwise.analysis import report
    from spanwise.formats import Report
    from spanwise.render.report_folder import PAGE, check_report_folder, write_report

    predictions = files if corpus else files[1:]
    names = _names(predictions, name or [])
    check_report_folder(target)
    found = Report()
    with _progress() as bar:
        gold, trained, schema = _gold(files[0], corpus, split, train, format, skip_bad, found, bar)
        systems = {
            system: _read(path, format, skip_bad, found, bar) for system, path in zip(names, predictions, strict=True)
        }
        result = analyze_systems(
            *(gold, systems), train=trained, schema=schema, buckets=buckets.value, samples=samples, seed=seed,
            progress=lambda step, done, total: _show(bar, step, done, total),
        )  # fmt: skip
        _show(bar, "writing the report")
        numbers = result.to_dict()
        write_report(report(result), target, numbers, result.suspicious.documents)
    print_report(found)
    for note in result.notes:
        err.print(f"note: {note}", markup=False, soft_wrap=True)
    if as_json:
        emit_json(numbers)
    else:
        _print(result, target / PAGE)


def _names(predictions: Sequence[Path], given: Sequence[str]) -> list[str]:
    """A name for each system, all different."""
    if not predictions:
        raise InputError("there are no predictions; give one or more files of predictions after the gold file.")
    if given and len(given) != len(predictions):
        raise InputError(
            f"there are {counted(len(predictions), 'file')} of predictions and {counted(len(given), 'name')}; "
            f"give one --name each."
        )
    names = list(given) or [path.stem if path.suffix in _SUFFIXES else path.name for path in predictions]
    for one in names:
        if not one.strip():
            raise InputError("the name of a system is empty; give each a --name of its own.")
        if names.count(one) > 1:
            raise InputError(f"two systems have the name {shortened(one)!r}; give each a --name of its own.")
    return names


def _gold(
    file: Path,
    corpus: str | None,
    split: str,
    train: Path | None,
    format: str | None,
    skip_bad: bool,
    found: Report,
    bar: Progress,
) -> tuple[Sequence[Document], Sequence[Document] | None, Schema | None]:
    """The gold documents, the training data if there is any, and the schema of a named corpus."""
    from spanwise import corpora

    trained = None if train is None else _read(train, format, skip_bad, found, bar)
    if corpus is None:
        return _read(file, format, skip_bad, found, bar), trained, None
    _show(bar, f"reading {corpus}")
    named = corpora.load(corpus)
    return named.split(split), named.splits.get("train") if trained is None else trained, named.schema


def _read(path: Path, format: str | None, skip_bad: bool, found: Report, bar: Progress) -> list[Document]:
    from spanwise.formats import read

    _show(bar, f"reading {path.name}")
    return list(_watched(read(path, format, skip_bad=skip_bad, report=found), path.name, bar))


def _watched(documents: Iterable[Document], name: str, bar: Progress, every: int = 500) -> Iterator[Document]:
    """The documents, counted as they are read."""
    for number, document in enumerate(documents, start=1):
        if number % every == 0:
            _show(bar, f"reading {name}: {number:,} documents")
        yield document


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar with the current step on standard error, where that is a terminal."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        bar.add_task("", total=None)
        yield bar


def _show(bar: Progress, step: str, done: int | None = None, total: int | None = None) -> None:
    bar.update(bar.task_ids[0], description=step, completed=done, total=total)


def _print(result: Analysis, page: Path) -> None:
    from rich.markup import escape
    from rich.table import Table as Grid

    from spanwise.render.tables import cells, numeric_columns

    for table in _summary(result):
        grid = Grid(*map(escape, table.header))
        for column, numeric in zip(grid.columns, numeric_columns(table), strict=True):
            column.justify = "right" if numeric else "left"
        for row in cells(table):
            grid.add_row(*map(escape, row))
        out.print(grid)
    out.print(f"report: {page}", markup=False, soft_wrap=True)


def _summary(result: Analysis) -> Iterator[Table]:
    """Strict scores with intervals and the kinds of errors of each system, then the tests between systems."""
    from spanwise.render.elements import Interval, Table, Value

    def percent(part: Interval) -> Interval:
        return Interval(100 * part.value, 100 * part.low, 100 * part.high)

    rows: list[tuple[Value | Interval, ...]] = []
    for name, one in result.systems.items():
        scores = {"entities": one.entities.strict.micro, **{k: v.scores.micro for k, v in one.relations.items()}}
        for task, score in scores.items():
            rows.append(
                (name, task, 100 * score.precision.value, 100 * score.recall.value, percent(score.f1), score.gold)
            )
    yield Table("", ("system", "task", "precision", "recall", "F1", "gold"), tuple(rows))
    kinds = tuple(next(iter(result.systems.values())).errors.kinds)
    errors: list[tuple[Value | Interval, ...]] = [
        (name, *(one.errors.kinds[kind].count for kind in kinds)) for name, one in result.systems.items()
    ]
    yield Table("", ("errors", *kinds), tuple(errors))
    if result.comparison is not None:
        tests = tuple(
            (f"{test.first} – {test.second}", test.task, f"{100 * test.difference:+.2f}", f"{test.p:.4f}")
            for test in result.comparison.tests
        )
        yield Table("", ("difference", "task", "F1", "p"), tests)
