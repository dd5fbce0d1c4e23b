"""`spanwise predict`: documents in, annotated documents out."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanwise.cli.app import app, err, out
from spanwise.cli.options import TagColumns
from spanwise.cli.reports import print_report
from spanwise.errors import InputError, UnknownFormatError
from spanwise.plural import counted

if TYPE_CHECKING:
    from spanwise.document import Document
    from spanwise.formats import Report
    from spanwise.schema import Schema


@app.command()
def predict(
    model: Annotated[str, typer.Argument(help="A model folder, or OWNER/NAME on the hub.")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN", help="A file in any format, a .txt file, or a folder of them; - is standard input."
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
    to: Annotated[str | None, typer.Option("--to", help="Format of the output; default: by its extension.")] = None,
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
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip bad records and count them.")] = False,
    lossy: Annotated[bool, typer.Option("--lossy", help="Drop what OUT cannot hold and count it.")] = False,
    reader: Annotated[
        str | None, typer.Option(help="The member of a bundle that makes the predictions, by model name.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where to run: auto (CUDA where there is any), cpu, cuda, …")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; default: all cores.")] = None,
) -> None:
    """Mark the entities of every document, and the relations between them if the model knows any.

    Example: spanwise predict runs/mine notes.txt
    Example: spanwise predict runs/mine in.jsonl out.jsonl
    Example: spanwise predict runs/mine entities.jsonl out.jsonl --given --html out.html
    Example: spanwise predict runs/shared in.jsonl out.jsonl --labels new.yaml
    Example: echo "Mara Ostrow lives in Brenford." | spanwise predict runs/mine
    """
    from rich.progress import track

    from spanwise import formats, runtime
    from spanwise.files import check_target
    from spanwise.inference.extractor import Extractor
    from spanwise.inference.thresholds import parse_thresholds
    from spanwise.recipe import Descriptions

    if html:
        check_target(html)
    if given and (lines or threshold is not None or label_threshold):
        raise InputError("--given keeps the entities of the input; leave out --lines and the thresholds of entities.")
    if lines and tag_columns:
        raise InputError("--lines reads plain text, which has no --tag-columns; leave one of them out.")
    report = formats.Report()
    runtime.set_threads(threads)
    extractor = Extractor.from_pretrained(model, device=device, reader=reader)
    if labels is not None:
        extractor = extractor.with_labels(Descriptions.load(labels).entities)
    own = extractor.pipeline.own_thresholds(extractor.schema)
    thresholds = parse_thresholds(threshold, label_threshold or (), own)
    documents = _read(source, lines, from_, formats.parse_columns(tag_columns), given, skip_bad, report)
    if given:
        found = extractor.relate(documents, relation_threshold=relation_threshold)
    else:
        found = extractor.stream(documents, threshold=thresholds, relation_threshold=relation_threshold)
    kept: list[Document] = []
    found = _kept(found, kept) if html else found
    if target is None and to is None and sys.stdout.isatty():
        _show(found, extractor.schema, report)
    else:
        tracked = track(found, "predicting", console=err, transient=True, disable=not err.is_terminal)
        formats.write(tracked, target or "-", to, lossy=lossy, report=report)
    if html:
        from spanwise.render.html import write_html

        write_html(kept, html, title=f"spanwise: {Path(source).name}", schema=extractor.schema)
    print_report(report)
    err.print(counted(report.written, "document"), markup=False)


def _read(
    source: str,
    lines: bool,
    format: str | None,
    columns: tuple[int, ...],
    given: bool,
    skip_bad: bool,
    report: Report,
) -> Iterator[Document]:
    """The documents of the input, which may be plain text."""
    from spanwise import formats
    from spanwise.formats import plain

    if source == "-" and sys.stdin.isatty():
        err.print("reading from the terminal; end the text with Ctrl-D on a line of its own")
    if lines:
        return plain.read_lines(source, skip_bad=skip_bad, report=report)
    if columns or (format != plain.TEXT and (format is not None or not plain.is_plain(source))):
        try:
            return formats.read(source, format, tag_columns=columns, skip_bad=skip_bad, report=report)
        except UnknownFormatError as error:
            hint = "name the files of a folder .txt" if Path(source).is_dir() else "add --from text"
            raise InputError(f"{str(error).removesuffix('.')}; for plain text {hint}.") from None
    if given:
        raise InputError("--given keeps the entities of the input, but plain text has none; give a file with entities.")
    return plain.read_texts(source, skip_bad=skip_bad, report=report)


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
