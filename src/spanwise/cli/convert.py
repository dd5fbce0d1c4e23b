"""`spanwise convert`: a corpus from one file format to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from spanwise.cli.app import app, emit_json, err
from spanwise.cli.options import AnnotatorName, TagColumns
from spanwise.cli.reports import print_report
from spanwise.errors import InputError
from spanwise.plural import counted

if TYPE_CHECKING:
    from spanwise.document import Document


@app.command()
def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A file, a folder of a corpus, or - for JSON lines.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="A file, a new brat folder, or - for JSON lines.")],
    from_: Annotated[str | None, typer.Option("--from", help="Format of IN; detected when not given.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Format of OUT; by its extension when not given.")] = None,
    scheme: Annotated[str, typer.Option(help="Tags to write: IOB1, IOB2, BIOES, BILOU, BMES, IO.")] = "IOB2",
    from_scheme: Annotated[str | None, typer.Option(help="Tags of IN; detected when not given.")] = None,
    tag_columns: TagColumns = None,
    annotator: AnnotatorName = None,
    model_version: Annotated[
        str | None, typer.Option(help="Write the annotations as predictions of this model (label-studio, prodigy).")
    ] = None,
    lossy: Annotated[bool, typer.Option("--lossy", help="Drop what OUT cannot hold and count it.")] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip bad records and count them.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Convert a corpus: jsonl, conll, spert, dygie, oneie, brat.

    Of annotation tools and libraries: label-studio, prodigy, doccano, webanno, spacy, huggingface, huggingface-tags,
    csv.

    Read only: ace, ace-events, conll-2012, conll-weibo, ontonotes, kbp, kbp-names, msra.

    Example: [bold]spanwise convert train.json train.conll --scheme BIOES --lossy[/]

    Example: [bold]spanwise convert export.json train.jsonl --annotator majority[/]
    """
    from spanwise.formats import FORMATS, Report, format_for_reading, format_for_writing, parse_columns, read, write
    from spanwise.text.alignment import ensure_words

    if json and target == "-":
        raise InputError("--json and OUT '-' both write to standard output; choose one.")
    report, columns = Report(), parse_columns(tag_columns)
    source_format = format_for_reading(source, from_, columns)
    target_format = to or format_for_writing(target)
    documents = read(
        source, from_, scheme=from_scheme, tag_columns=columns, annotator=annotator, skip_bad=skip_bad, report=report
    )
    held = FORMATS.get(source_format)
    # a record of most formats of words is a sentence already; its borders are kept
    split = held is not None and (held.whole_texts or not held.needs_words)
    if target_format in FORMATS and FORMATS[target_format].needs_words:
        documents = map(ensure_words, documents)
    watched = _watched(documents)
    own = {"scheme": scheme, "split_sentences": split, "lossy": lossy, "model_version": model_version}
    write(watched, target, target_format, report=report, **own)  # type: ignore[arg-type]
    if json:
        emit_json({"in": source, "out": target, "from": source_format, "to": target_format, **report.to_dict()})
    else:
        err.print(escape(f"read {counted(report.read, 'document')} from {source} ({source_format})"), soft_wrap=True)
        err.print(escape(f"wrote {report.written:,} to {target} ({target_format})"), soft_wrap=True)
        print_report(report)


def _watched(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents, counted on standard error once they take longer than a second."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} documents"), TimeElapsedColumn())
    progress, began = Progress(*columns, console=err, transient=True), monotonic()
    task = progress.add_task("convert", total=None)
    try:
        for document in documents:
            yield document
            progress.advance(task)
            if not progress.live.is_started and monotonic() - began > 1:
                progress.start()
    finally:
        if progress.live.is_started:
            progress.stop()
