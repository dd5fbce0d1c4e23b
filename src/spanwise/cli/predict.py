"""`spanwise predict`: documents in, annotated documents out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanwise.cli.app import app, err
from spanwise.cli.reports import print_report
from spanwise.errors import InputError
from spanwise.plural import counted

if TYPE_CHECKING:
    from spanwise.document import Document
    from spanwise.formats import Report


@app.command()
def predict(
    model: Annotated[str, typer.Argument(help="A model folder, or its name on the hub.")],
    source: Annotated[str, typer.Argument(metavar="IN", help="A file in any format; - is standard input.")] = "-",
    target: Annotated[str, typer.Argument(metavar="OUT", help="Where the documents go; - is standard output.")] = "-",
    lines: Annotated[bool, typer.Option("--lines", help="The input is plain text, one text per line.")] = False,
    from_: Annotated[str | None, typer.Option("--from", help="Format of the input; default: detected.")] = None,
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

    Example: spanwise predict runs/mine in.jsonl out.jsonl
    Example: spanwise predict runs/mine entities.jsonl out.jsonl --given --html out.html
    Example: spanwise predict runs/shared in.jsonl out.jsonl --labels new.yaml
    Example: echo "Mara Ostrow lives in Brenford." | spanwise predict runs/mine --lines
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
    report = formats.Report()
    runtime.set_threads(threads)
    extractor = Extractor.from_pretrained(model, device=device, reader=reader)
    if labels is not None:
        extractor = extractor.with_labels(Descriptions.load(labels).entities)
    thresholds = parse_thresholds(threshold, label_threshold or (), extractor.pipeline.threshold, extractor.schema)
    read = _lines(source, skip_bad, report) if lines else formats.read(source, from_, skip_bad=skip_bad, report=report)
    if given:
        found = extractor.relate(read, relation_threshold=relation_threshold)
    else:
        found = extractor.stream(read, threshold=thresholds, relation_threshold=relation_threshold)
    shown = track(found, "predicting", console=err, transient=True, disable=not err.is_terminal)
    kept: list[Document] = []
    formats.write(_kept(shown, kept) if html else shown, target, to, lossy=lossy, report=report)
    if html:
        from spanwise.render.html import write_html

        write_html(kept, html, title=f"spanwise: {Path(source).name}", schema=extractor.schema)
    print_report(report)
    err.print(counted(report.written, "document"), markup=False)


def _lines(source: str, skip_bad: bool, report: Report) -> Iterator[Document]:
    from spanwise.document import Document
    from spanwise.formats.reading import Reader

    reader = Reader(None if source == "-" else Path(source), None, skip_bad, report)
    lines = ((line.number, line) for line in reader.lines())
    return reader.documents(lines, lambda line: [Document(line.decode())])


def _kept(documents: object, kept: list[Document]) -> Iterator[Document]:
    for document in documents:  # type: ignore[attr-defined]
        kept.append(document)
        yield document
