"""`spanwise predict`: documents in, annotated documents out."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanwise.cli.app import app, err, out
from spanwise.cli.options import AnnotatorName, TagColumns
from spanwise.cli.reports import print_report
from spanwise.errors import InputError
from spanwise.plural import counted

if TYPE_CHECKING:
    from spanwise.document import Document
    from spanwise.formats import Report
    from spanwise.inference.batch.prediction import Extraction
    from spanwise.inference.batch.progress import Progress
    from spanwise.inference.batch.run import Engine
    from spanwise.inference.batch.source import Source
    from spanwise.schema import Schema

LOG_SECONDS = 60  # between two lines about progress where there is no terminal


class EngineName(StrEnum):
    LOCAL = "local"
    RAY = "ray"


@app.command()
def predict(
    model: Annotated[str, typer.Argument(help="A model folder, or OWNER/NAME on the hub.")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN",
            help="A file in any format, a .txt or Parquet file, a folder, or a URL; - is standard input.",
        ),
    ] = "-",
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="OUT",
            help="Where the documents go; - is standard output. Default: JSON lines on standard output, or, if that is "
            "a terminal, the text with its spans marked.",
            show_default=False,
        ),
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="The input is plain text, one text per line.")] = False,
    from_: Annotated[
        str | None, typer.Option("--from", help="Format of the input, or text; default: detected.")
    ] = None,
    tag_columns: TagColumns = None,
    annotator: AnnotatorName = None,
    to: Annotated[
        str | None, typer.Option("--to", help="Format of the output, also csv or parquet; default: by its extension.")
    ] = None,
    text_column: Annotated[str, typer.Option(help="The column of a Parquet file that holds the texts.")] = "text",
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Lowest probability of an entity; default: the model's.")
    ] = None,
    label_threshold: Annotated[
        list[str] | None, typer.Option(help="The lowest probability for one label: --label-threshold PER=0.8")
    ] = None,
    relation_threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Lowest probability of a relation; default: the model's.")
    ] = None,
    given: Annotated[
        bool, typer.Option("--given", help="Keep the entities of the input and only predict relations between them.")
    ] = False,
    labels: Annotated[
        Path | None, typer.Option(help="Predict these labels instead of the model's: a YAML file of descriptions.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page with the spans marked.")] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip bad records and write them to OUT.bad.jsonl.")
    ] = False,
    lossy: Annotated[bool, typer.Option("--lossy", help="Drop what OUT cannot hold and count it.")] = False,
    reader: Annotated[
        str | None, typer.Option(help="The member of a bundle that makes the predictions, by model name.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where to run: auto (CUDA where there is any), cpu, cuda, …")] = "auto",
    threads: Annotated[
        int | None, typer.Option(min=1, help="Number of threads of each worker; default: all cores, shared.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes that predict, each with its model.")] = 1,
    engine: Annotated[
        EngineName, typer.Option(help="Where the workers run: on this machine, or on Ray.")
    ] = EngineName.LOCAL,
    part_size: Annotated[int, typer.Option(min=1, help="Documents that are finished and stored together.")] = 1024,
) -> None:
    """Mark the entities of every document, and the relations between them if the model knows any.

    A large output is written in parts to the folder OUT.parts. If the command is killed, run it again: it resumes.

    Example: spanwise predict runs/mine notes.txt
    Example: spanwise predict runs/mine in.jsonl out.jsonl
    Example: spanwise predict runs/mine entities.jsonl out.jsonl --given --html out.html
    Example: spanwise predict runs/mine corpus.parquet found.csv --workers 4
    Example: spanwise predict runs/shared in.jsonl out.jsonl --labels new.yaml
    Example: echo "Mara Ostrow lives in Brenford." | spanwise predict runs/mine
    """
    from spanwise.formats import parse_columns
    from spanwise.inference.batch.prediction import Extraction
    from spanwise.inference.batch.source import Source
    from spanwise.recipe import Descriptions

    if html:
        from spanwise.files import check_target

        check_target(html)
    if given and (lines or threshold is not None or label_threshold):
        raise InputError("--given keeps the entities of the input; leave out --lines and the thresholds of entities.")
    if lines and tag_columns:
        raise InputError("--lines reads plain text, which has no --tag-columns; leave one of them out.")
    read = Source(source, lines, from_, parse_columns(tag_columns), annotator, text_column, given, skip_bad, part_size)
    descriptions = None if labels is None else Descriptions.load(labels).entities
    own = tuple(label_threshold or ())
    asked = Extraction(model, device, reader, descriptions, threshold, own, relation_threshold, given)
    if source == "-" and sys.stdin.isatty():
        err.print("reading from the terminal; end the text with Ctrl-D on a line of its own")
    several = workers > 1 or engine is EngineName.RAY
    if several and html:
        raise InputError("--html keeps all documents in memory; leave it out with --workers and --engine ray.")
    if target is None or _is_stream(target):
        if several:
            raise InputError("--workers and --engine ray store finished parts beside OUT; name a file as OUT.")
        report = _stream(read, asked, target, to, lossy, html, threads)
    else:
        report = _batch(read, asked, target, to, lossy, html, _engine(engine, asked, source, workers, threads))
    print_report(report)
    err.print(counted(report.written, "document"), markup=False)


def _is_stream(target: str) -> bool:
    """Whether the output is no file that can be written beside its place: standard output, a pipe or a device."""
    path = Path(target)
    return target == "-" or (path.exists() and not path.is_file() and not path.is_dir())


def _engine(name: EngineName, asked: Extraction, source: str, workers: int, threads: int | None) -> Engine:
    if name is EngineName.LOCAL:
        from spanwise.inference.batch.run import LocalEngine

        return LocalEngine(asked, workers, threads)
    if source == "-":
        raise InputError("Ray cannot read standard input; save it to a file first.")
    from spanwise.integrations.ray import RayEngine

    return RayEngine(asked, workers, threads)


def _batch(
    source: Source, asked: Extraction, target: str, to: str | None, lossy: bool, html: Path | None, engine: Engine
) -> Report:
    """Write a file, in parts while it takes; what is finished stays there whatever happens."""
    from spanwise.inference.batch.output import Output, output_format
    from spanwise.inference.batch.run import Batch, LocalEngine

    batch = Batch(source, asked, Output(target, output_format(target, to), lossy, Path(asked.model).name))

    try:
        with _shown(batch.progress) as batch.watch:
            if html and isinstance(engine, LocalEngine):
                return batch.run(engine, lambda found: _write_page(found, html, source, engine.predictor.schema))
            return batch.run(engine)
    except BaseException:
        if batch.store.finished:
            finished = counted(sum(head.documents for head in batch.store.finished.values()), "document")
            err.print(
                f"{finished} finished in {batch.store.folder.name}; run the same command again to resume",
                markup=False,
                soft_wrap=True,
            )
        raise


@contextmanager
def _shown(progress: Progress) -> Iterator[Callable[[], None]]:
    """Show the progress: a bar on a terminal, and otherwise a line a minute."""
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    logged = time.monotonic()

    def log() -> None:
        nonlocal logged
        if time.monotonic() - logged > LOG_SECONDS:
            logged = time.monotonic()
            err.print(progress.sentence(), markup=False)

    if not err.is_terminal:
        yield log
        return
    columns = (TextColumn("predicting"), BarColumn(), TextColumn("{task.description}"))
    with Bars(*columns, console=err, transient=True) as bars:
        task = bars.add_task("", total=1.0)
        yield lambda: bars.update(task, completed=progress.share, description=progress.sentence())


def _stream(
    source: Source,
    asked: Extraction,
    target: str | None,
    to: str | None,
    lossy: bool,
    html: Path | None,
    threads: int | None,
) -> Report:
    """Write to standard output or a device as the documents come, or show them on a terminal."""
    from rich.progress import track

    from spanwise import formats
    from spanwise.formats import tables
    from spanwise.formats.writing import Writer
    from spanwise.inference.batch.prediction import Predictor

    report, predictor = formats.Report(), Predictor(asked, threads)
    kept: list[Document] = []
    found = predictor.documents(source.documents(report))
    found = _kept(found, kept) if html else found
    if target is None and to is None and sys.stdout.isatty():
        _show(found, predictor.schema, report)
    else:
        tracked = track(found, "predicting", console=err, transient=True, disable=not err.is_terminal)
        if to in tables.WRITERS:
            path = None if target in {None, "-"} else Path(str(target))
            tables.WRITERS[to](tracked, Writer(path, "", lossy, report))
        else:
            formats.write(tracked, target or "-", to, lossy=lossy, report=report)
    if html:
        _write_page(kept, html, source, predictor.schema)
    return report


def _show(documents: Iterable[Document], schema: Schema, report: Report) -> None:
    """Print the texts with their spans marked and their relations, as soon as they are there."""
    from spanwise.render.terminal import to_terminal

    for document in documents:
        if document.id:
            out.print(document.id, style="dim", markup=False, soft_wrap=True)
        out.print(to_terminal(document, schema))
        out.print()
        report.written += 1


def _kept(documents: Iterable[Document], kept: list[Document]) -> Iterator[Document]:
    for document in documents:
        kept.append(document)
        yield document


def _write_page(documents: Iterable[Document], path: Path, source: Source, schema: Schema) -> None:
    from spanwise.render.html import write_html

    write_html(documents, path, title=f"spanwise: {Path(source.path).name}", schema=schema)
