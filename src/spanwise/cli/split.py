"""`spanwise split`: labeled files to train, dev and test files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spanwise.cli.app import app, emit_json, out
from spanwise.cli.options import AnnotatorName, TagColumns
from spanwise.cli.reports import print_report
from spanwise.errors import InputError
from spanwise.plural import counted


@app.command()
def split(
    files: Annotated[list[Path], typer.Argument(help="Labeled files in any format.")],
    folder: Annotated[Path, typer.Option("--out", help="Folder for train.jsonl, dev.jsonl and test.jsonl.")],
    dev: Annotated[float, typer.Option(min=0, max=0.5, help="Share of the documents for dev; 0: none.")] = 0.1,
    test: Annotated[float, typer.Option(min=0, max=0.5, help="Share of the documents for test; 0: none.")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the shuffle.")] = 1,
    format: Annotated[str | None, typer.Option(help="Format of the files; default: detected.")] = None,
    tag_columns: TagColumns = None,
    annotator: AnnotatorName = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip bad records and count them.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Split labeled documents at random. Equal texts stay in one split, and every label stays in train.

    Example: spanwise split all.jsonl --dev 0.1 --test 0.1 --out data
    """
    from spanwise import corpora, formats
    from spanwise.corpora.splitting import split_documents

    if not dev and not test:
        raise InputError("--dev and --test are both 0, so there is nothing to split; give a share for one of them.")
    shares = {name: share for name, share in (("dev", dev), ("test", test)) if share}
    targets = {name: folder / f"{name}.jsonl" for name in ("train", *shares)}
    if taken := [str(path) for path in targets.values() if path.exists()]:
        raise InputError(f"{taken[0]} exists; give another --out.")
    report = formats.Report()
    columns = formats.parse_columns(tag_columns)
    corpus = corpora.from_files(
        files, format=format, tag_columns=columns, annotator=annotator, skip_bad=skip_bad, report=report
    )
    parts = split_documents(corpus.split("train"), shares, seed)
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in parts.items():
        formats.write(rows, targets[name], "jsonl")
    print_report(report)
    counts = {name: {"file": str(targets[name]), "documents": len(rows)} for name, rows in parts.items()}
    if as_json:
        emit_json({"seed": seed, "splits": counts})
        return
    for name, rows in parts.items():
        out.print(f"{name}: {counted(len(rows), 'document')} in {targets[name]}", markup=False, soft_wrap=True)
    named = " ".join(str(path) for path in targets.values())
    out.print(f"next: spanwise init {named}", markup=False, soft_wrap=True)
