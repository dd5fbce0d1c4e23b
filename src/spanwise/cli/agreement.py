"""`spanwise agreement`: how far annotators agree, and where they do not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from spanwise.cli.app import app, emit_json, err, out
from spanwise.cli.reports import print_report
from spanwise.plural import counted

if TYPE_CHECKING:
    from spanwise.metrics.agreement import Agreement, LabelAgreement


@app.command()
def agreement(
    files: Annotated[
        list[Path], typer.Argument(help="A file for each annotator, or one file that names several annotators.")
    ],
    target: Annotated[
        Path | None, typer.Option("--out", help="Write the texts with disagreements, as JSON lines or by extension.")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Format of the files; default: detected.")] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip bad records and count them.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Measure how far annotators agree: strict and partial F1 of each pair, and Krippendorff's alpha.

    Example: spanwise agreement ann.jsonl bo.jsonl --out disagreements.jsonl
    Example: spanwise agreement label-studio-export.json
    """
    from spanwise.corpora.annotated import read_versions
    from spanwise.formats import Report, write
    from spanwise.metrics.agreement import find_disagreements, measure_agreement

    report = Report()
    with err.status("reading"):
        texts = read_versions(files, format=format, skip_bad=skip_bad, report=report)
        found = measure_agreement(texts)
    if target is not None:
        write(find_disagreements(texts), target, report=report)
    print_report(report)
    if as_json:
        emit_json(found.to_dict())
    else:
        _print(found)
    if target is not None:
        written = counted(report.written, "text with disagreements", "texts with disagreements")
        err.print(f"wrote {written} to {target}", markup=False, soft_wrap=True)


def _print(found: Agreement) -> None:
    out.print(f"{counted(found.texts, 'text')}, {counted(len(found.annotators), 'annotator')}", markup=False)
    pairs = Table("annotators", title="pairs", title_justify="left")
    related = any(pair.relations_f1 is not None for pair in found.pairs)
    for name in ("texts", "entities", "strict F1", "partial F1", *(["relations F1"] if related else [])):
        pairs.add_column(name, justify="right")
    for pair in found.pairs:
        one, other = pair.annotators
        entities = " / ".join(f"{count:,}" for count in pair.entities)
        scores = [pair.strict_f1, pair.partial_f1, *([pair.relations_f1] if related else [])]
        pairs.add_row(escape(f"{one} – {other}"), f"{pair.texts:,}", entities, *map(_number, scores))
    out.print(pairs)
    labels = Table("label", title="labels, over all pairs", title_justify="left")
    for name in ("entities", "strict F1", "partial F1", "alpha"):
        labels.add_column(name, justify="right")
    for label, agreement in found.labels.items():
        labels.add_row(escape(label), *_cells(agreement))
    labels.add_section()
    labels.add_row("all", *_cells(found.overall))
    out.print(labels)


def _cells(agreement: LabelAgreement) -> list[str]:
    scores = (agreement.strict_f1, agreement.partial_f1, agreement.alpha)
    return [f"{agreement.entities:,}", *map(_number, scores)]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
