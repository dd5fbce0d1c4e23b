"""`spanwise inspect`: what a corpus holds, and its traps, before anything is trained on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from spanwise.cli.app import app, emit_json, err, out
from spanwise.cli.options import AnnotatorName, TagColumns
from spanwise.cli.reports import print_report
from spanwise.plural import counted

if TYPE_CHECKING:
    from spanwise.corpora import Corpus
    from spanwise.formats import Report
    from spanwise.inspection import Inspection

_SHOWN = 10
_COUNTS = {name: name for name in ("documents", "words", "entities", "relations", "events", "nested", "crossing")} | {
    "shared_spans": "spans with several labels",
    "duplicate_documents": "duplicate documents",
    "duplicate_annotations": "duplicate annotations",
}


@app.command()
def inspect(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Your own files; splits are inferred from file names.")
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="A corpus by name, see `spanwise corpora`.")] = None,
    dev: Annotated[list[Path] | None, typer.Option(help="A file of the dev split; may be repeated.")] = None,
    test: Annotated[list[Path] | None, typer.Option(help="A file of the test split; may be repeated.")] = None,
    format: Annotated[str | None, typer.Option(help="Format of the files; default: detected.")] = None,
    tag_columns: TagColumns = None,
    annotator: AnnotatorName = None,
    data: Annotated[Path | None, typer.Option(help="Folder of the corpora; default: $SPANWISE_DATA.")] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip bad records and count them.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Count documents, entities and relations by label, and find overlaps, duplicates and what does not align.

    Example: [bold]spanwise inspect train.jsonl --test test.jsonl[/]
    """
    from spanwise.formats import Report, parse_columns
    from spanwise.inspection import inspect as inspect_corpus

    report, columns = Report(), parse_columns(tag_columns)
    with err.status("reading and counting"):
        found = inspect_corpus(
            _corpus(corpus, files or [], dev or [], test or [], format, columns, annotator, data, skip_bad, report)
        )
    print_report(report)
    if json:
        emit_json(found.to_dict())
    else:
        _print(found)


def _corpus(
    name: str | None,
    files: list[Path],
    dev: list[Path],
    test: list[Path],
    format: str | None,
    columns: tuple[int, ...],
    annotator: str | None,
    data: Path | None,
    skip_bad: bool,
    report: Report,
) -> Corpus:
    from spanwise import corpora
    from spanwise.errors import InputError

    if (name is None) == (not files):
        raise InputError("give either a corpus by name (--corpus) or files of your own.")
    if name is not None:
        if dev or test or format or columns or annotator or skip_bad:
            raise InputError(
                "--dev, --test, --format, --tag-columns, --annotator and --skip-bad are for files; leave them out with "
                "--corpus."
            )
        return corpora.load(name, data)
    if not dev and not test:
        files, dev, test = corpora.infer_splits(files)
    return corpora.from_files(
        *(files, dev, test),
        format=format,
        tag_columns=columns,
        annotator=annotator,
        skip_bad=skip_bad,
        report=report,
        check_labels=False,
    )


def _print(found: Inspection) -> None:
    out.print(_counts(found))
    for kind in ("entity", "relation"):
        if any(getattr(split, f"{kind}_types") for split in found.splits.values()):
            out.print(_labels(found, kind))
    if found.width_coverage:
        out.print(_widths(found))
    for name, split in found.splits.items():
        if split.unknown_labels:
            labels = ", ".join(split.unknown_labels)
            out.print(f"{name} has labels that do not occur in train: {labels}.", markup=False, soft_wrap=True)
    if found.shared_with_test:
        shared = counted(found.shared_with_test, "test document also occurs", "test documents also occur")
        out.print(f"{shared} in train.")
    if found.misaligned:
        lost = counted(len(found.misaligned), "entity does not fall", "entities do not fall")
        out.print(f"{lost} on word boundaries; no model can learn {'it' if len(found.misaligned) == 1 else 'them'}:")
    for bad in found.misaligned[:_SHOWN]:
        place = f"  {bad.split} {bad.document}: {bad.label} at {bad.start} to {bad.end}, {bad.text!r}"
        out.print(place, markup=False, soft_wrap=True)
    if len(found.misaligned) > _SHOWN:
        out.print(f"  and {len(found.misaligned) - _SHOWN:,} more (--json lists all)")


def _counts(found: Inspection) -> Table:
    table = Table("")
    for name in found.splits:
        table.add_column(name, justify="right")
    for field, name in _COUNTS.items():
        table.add_row(name, *(f"{getattr(split, field):,}" for split in found.splits.values()))
    densities = (split.oov_density for split in found.splits.values())
    table.add_row("words not in train", *("–" if share is None else f"{share:.1%}" for share in densities))
    return table


def _widths(found: Inspection) -> Table:
    """Entities by their number of words, and the share that a model of this maximum width can find."""
    from spanwise.inspection import measured_widths

    counts, shares = measured_widths(found.splits), found.width_coverage
    enough, widest = next(int(width) for width, share in shares.items() if share >= 0.99), len(shares)
    where = "train" if "train" in found.splits else "all"
    table = Table("words", title=f"width of the entities in {where}", title_justify="left")
    table.add_column("entities", justify="right")
    table.add_column("share of entities up to this width", justify="right")
    for width in sorted(width for width in counts if width <= enough):
        table.add_row(str(width), f"{counts[width]:,}", f"{shares[str(width)]:.1%}")
    if wider := sum(count for width, count in counts.items() if width > enough):
        table.add_row(f"up to {widest}", f"{wider:,}", "100.0%")
    return table


def _labels(found: Inspection, kind: str) -> Table:
    table = Table(f"{kind} type")
    counts = [getattr(split, f"{kind}_types") for split in found.splits.values()]
    for name in found.splits:
        table.add_column(name, justify="right")
    for label in dict.fromkeys(label for split in counts for label in split):
        table.add_row(escape(label), *(f"{split.get(label, 0):,}" for split in counts))
    return table
