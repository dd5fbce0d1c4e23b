"""`spanwise export`: a trained model for ONNX Runtime, without PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanwise.cli.app import app, emit_json, err, out
from spanwise.cli.evaluate import labeled_files
from spanwise.cli.options import AnnotatorName, TagColumns
from spanwise.cli.reports import print_report
from spanwise.errors import InputError

if TYPE_CHECKING:
    from spanwise.evaluation.exporting import Check, Exported


@app.command()
def export(
    model: Annotated[str, typer.Argument(help="A model folder, or OWNER/NAME on the hub.")],
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="A new folder for the exported model.")],
    int8: Annotated[bool, typer.Option("--int8", help="Store weights in 8 bits: smaller, faster, less exact.")] = False,
    check: Annotated[
        list[Path] | None,
        typer.Option(help="Labeled file, such as dev data, to compare F1 before and after; may be repeated."),
    ] = None,
    format: Annotated[str | None, typer.Option(help="Format of the file; default: detected.")] = None,
    tag_columns: TagColumns = None,
    annotator: AnnotatorName = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip bad records and count them.")] = False,
    reader: Annotated[str | None, typer.Option(help="The member of a bundle that is exported, by model name.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; default: all cores.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Export a trained model as ONNX graphs. The folder needs neither PyTorch nor transformers to be used.

    With --int8 and --check, parts of the model that 8 bits make inexact are found and kept in 32 bits.

    Example: spanwise export runs/mine exported
    Example: spanwise export runs/mine exported --int8 --check dev.jsonl
    """
    if not check and (format or tag_columns or annotator or skip_bad):
        raise InputError(
            "--format, --tag-columns, --annotator and --skip-bad are for --check FILE; give it, or leave them out."
        )
    from spanwise import runtime
    from spanwise.inference.loading import is_exported
    from spanwise.inference.sources import model_folder

    source = model_folder(model)
    if is_exported(source):
        raise InputError(f"{source} is exported already; export the model folder that was trained.")
    gold, report = labeled_files(check, format, tag_columns, annotator, skip_bad) if check else ([], None)
    runtime.set_threads(threads)
    try:
        from spanwise.evaluation.exporting import export_model
        from spanwise.inference.extractor import Extractor
    except ModuleNotFoundError as error:
        raise InputError(f"export needs {error.name}; run `pip install 'spanwise[onnx]'`.") from None
    with err.status("loading") as status:
        extractor = Extractor.from_pretrained(source, reader=reader)
        result = export_model(extractor, folder, int8=int8, gold=gold, progress=status.update)
    if report:
        print_report(report)
    if as_json:
        emit_json(_to_dict(folder, result))
    else:
        _print(folder, result, int8)


def _print(folder: Path, result: Exported, int8: bool) -> None:
    megabytes = sum(result.sizes.values()) / 2**20
    out.print(f"exported {folder}: {', '.join(result.sizes)}, {megabytes:.1f} MB", markup=False, soft_wrap=True)
    if result.excluded:
        out.print(f"kept in fp32: {', '.join(result.excluded)}", markup=False, soft_wrap=True)
    if result.check:
        _print_check(result.check)
    elif int8:
        err.print("note: int8 was not checked; give --check FILE to compare F1.", markup=False, soft_wrap=True)
    out.print(f"next: spanwise predict {folder} TEXT_FILE", markup=False, soft_wrap=True)


def _print_check(check: Check) -> None:
    from rich.table import Table

    from spanwise.evaluation.exporting import f1s

    table = Table("F1", "before", "after", "change")
    rows = zip(("entities", "RE+"), f1s(check.before), f1s(check.after), strict=False)
    for name, before, after in rows:
        table.add_row(name, *(f"{100 * value:.2f}" for value in (before, after)), f"{100 * (after - before):+.2f}")
    out.print(table)
    out.print(
        f"{check.changed} of {sum(check.predictions)} predictions are made by one of the two alone; "
        f"the scores of the others differ by {check.largest_difference:.4f} at most",
        markup=False,
        soft_wrap=True,
    )


def _to_dict(folder: Path, result: Exported) -> dict[str, Any]:
    check = result.check
    return {
        "folder": str(folder),
        "bytes": result.sizes,
        "excluded": list(result.excluded),
        "check": check
        and {
            "before": check.before.to_dict(),
            "after": check.after.to_dict(),
            "predictions": list(check.predictions),
            "changed": check.changed,
            "largest_difference": check.largest_difference,
        },
    }
