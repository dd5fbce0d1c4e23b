"""`spanwise vectors`: how well a model's span vectors separate labels and overlapping spans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanwise.cli.app import app, emit_json, err, out
from spanwise.cli.reports import print_report
from spanwise.plural import counted

if TYPE_CHECKING:
    from spanwise.analysis.representations import Representations
    from spanwise.render import elements


@app.command()
def vectors(
    model: Annotated[str, typer.Argument(help="A model folder, or OWNER/NAME on the hub.")],
    file: Annotated[Path, typer.Argument(help="Labeled documents in any format.")],
    folder: Annotated[
        Path | None, typer.Option("--out", help="Folder for vectors.html, vectors.json and pca.svg; default: none.")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Format of the file; default: detected.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the entities sampled for the plot.")] = 1,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip bad records and count them.")] = False,
    reader: Annotated[
        str | None, typer.Option(help="The member of a bundle whose vectors are measured, by model name.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where to run: auto (CUDA where there is any), cpu, cuda, …")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; default: all cores.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Compare the span vectors of a model: cosines of overlapping spans, within and between labels, and a PCA plot.

    Works for models with a linear classifier over span vectors, such as dspert and span-ner.

    Example: spanwise vectors runs/mine test.jsonl --out vectors
    """
    from rich.progress import track

    from spanwise import formats, runtime
    from spanwise.analysis.representations import represent
    from spanwise.files import check_target
    from spanwise.inference.extractor import Extractor

    if folder is not None:
        check_target(folder)
    report = formats.Report()
    runtime.set_threads(threads)
    extractor = Extractor.from_pretrained(model, device=device, reader=reader)
    documents = formats.read(file, format, skip_bad=skip_bad, report=report)
    tracked = track(documents, "reading", console=err, transient=True, disable=not err.is_terminal)
    found = represent(extractor, tracked, seed)
    print_report(report)
    if found.left_out:
        one, several = "gold entity is no candidate and is", "gold entities are no candidates and are"
        err.print(f"note: {counted(found.left_out, one, several)} left out.", markup=False, soft_wrap=True)
    if folder is not None:
        _write(found, folder)
    if as_json:
        emit_json(found.to_dict())
    else:
        for table in (found.overlap_table(), found.class_table(), found.label_table()):
            _print(table)


def _write(found: Representations, folder: Path) -> None:
    import json

    from spanwise.files import write_text
    from spanwise.render.charts import to_svg
    from spanwise.render.report import to_page

    write_text(folder / "vectors.json", json.dumps(found.to_dict(), ensure_ascii=False, indent=2) + "\n")
    write_text(folder / "pca.svg", to_svg(found.scatter()))
    write_text(folder / "vectors.html", to_page(found.report()))
    err.print(f"wrote vectors.html, vectors.json and pca.svg to {folder}", markup=False, soft_wrap=True)


def _print(table: elements.Table) -> None:
    from rich.markup import escape
    from rich.table import Table

    from spanwise.render.tables import cells, numeric_columns

    shown = Table()
    for name, numeric in zip(table.header, numeric_columns(table), strict=True):
        shown.add_column(escape(name), justify="right" if numeric else "left")
    for row in cells(table):
        shown.add_row(*map(escape, row))
    out.print(table.title, style="bold", markup=False)
    out.print(shown)
    out.print(f"{table.note}\n", style="dim", markup=False)
