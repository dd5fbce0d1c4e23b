"""`spanwise suggest`: the texts of a pool to annotate next."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanwise.cli.app import app, emit_json, err, out
from spanwise.cli.reports import print_report
from spanwise.errors import InputError
from spanwise.plural import counted

if TYPE_CHECKING:
    from spanwise.document import Document
    from spanwise.formats import Report


class By(StrEnum):
    ENTROPY = "entropy"
    MARGIN = "margin"
    COMMITTEE = "committee"


@app.command()
def suggest(
    model: Annotated[str, typer.Argument(help="A model folder, or OWNER/NAME on the hub.")],
    pool: Annotated[str, typer.Argument(help="The texts to choose from: a file in any format, or a .txt file.")],
    target: Annotated[str, typer.Option("--out", metavar="FILE", help="Where the chosen texts go.")],
    top: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many texts to choose.")] = 50,
    by: Annotated[By | None, typer.Option(help="What makes a text uncertain; default: entropy.")] = None,
    committee: Annotated[
        list[str] | None, typer.Option(help="Another model of the committee; give it once per model.")
    ] = None,
    labeled: Annotated[
        list[Path] | None, typer.Option(help="A file whose texts are left out; give it once per file.")
    ] = None,
    to: Annotated[str | None, typer.Option("--to", help="Format of FILE; default: by its extension.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Format of POOL, or text; default: detected.")] = None,
    lines: Annotated[bool, typer.Option("--lines", help="POOL is plain text, one text per line.")] = False,
    lossy: Annotated[bool, typer.Option("--lossy", help="Drop what FILE cannot hold and count it.")] = False,
    device: Annotated[str, typer.Option(help="Where to run: auto (CUDA where there is any), cpu, cuda, …")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; default: all cores.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Choose the texts that the model is least certain about, unlike each other, with its predictions as annotations.

    entropy sums the entropy of all decisions and favors long texts; margin takes the closest decision; committee counts
    how much several models disagree.

    Example: spanwise suggest runs/mine pool.jsonl --labeled train.jsonl --out batch.jsonl --top 50
    Example: spanwise suggest runs/a pool.txt --lines --out batch.jsonl --committee runs/b --committee runs/c
    """
    from spanwise import formats, runtime
    from spanwise.inference.extractor import Extractor
    from spanwise.inference.suggestion import suggest as choose
    from spanwise.text.alignment import ensure_words

    others = committee or []
    measure = by or (By.COMMITTEE if others else By.ENTROPY)
    if (measure is By.COMMITTEE) != bool(others):
        raise InputError("--by committee needs --committee MODEL, and only it does; give both or neither.")
    if target == "-" and as_json:
        raise InputError("--json and --out - both write to standard output; choose one.")
    format = to or formats.format_for_writing(target)
    if format not in formats.FORMATS or formats.FORMATS[format].write is None:
        raise InputError(f"{format!r} cannot be written; choose another format with --to, such as jsonl.")
    runtime.set_threads(threads)
    report, known = formats.Report(), formats.Report()
    extractor, *rest = (Extractor.from_pretrained(name, device=device) for name in (model, *others))
    chosen = choose(
        extractor,
        _documents(pool, lines, from_, report),
        top,
        by=measure.value,
        committee=rest,
        labeled=[document for path in labeled or () for document in formats.read(path, report=known)],
    )
    written = formats.Report()
    documents = map(ensure_words, chosen) if formats.FORMATS[format].needs_words else chosen
    formats.write(documents, target, format, lossy=lossy, report=written)
    print_report(report)
    print_report(written)
    if as_json:
        emit_json({"pool": report.read, "chosen": len(chosen), "by": measure.value, "out": target})
    else:
        console = err if target == "-" else out
        texts = f"{counted(len(chosen), 'text')} of {report.read:,}"
        console.print(f"chose {texts} by {measure.value}: {target}", markup=False, soft_wrap=True)


def _documents(pool: str, lines: bool, from_: str | None, report: Report) -> Iterator[Document]:
    """The pool, with a count on a terminal."""
    from rich.progress import track

    from spanwise.inference.batch.source import Source

    read = Source(pool, lines=lines, format=from_).documents(report)
    yield from track(read, "reading the pool", console=err, transient=True, disable=not err.is_terminal)
