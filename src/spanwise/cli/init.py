"""`spanwise init`: a recipe for one's own data."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanwise.cli.app import app, err, out
from spanwise.cli.options import AnnotatorName, TagColumns
from spanwise.cli.reports import print_report
from spanwise.errors import InputError

if TYPE_CHECKING:
    from spanwise.recipe.advice import Timing


@app.command()
def init(
    files: Annotated[list[Path], typer.Argument(help="Labeled files; splits are inferred from file names.")],
    recipe: Annotated[Path, typer.Option("--out", help="The recipe to write.")] = Path("recipe.yaml"),
    dev: Annotated[list[Path] | None, typer.Option(help="A file to choose the best model on; may be repeated.")] = None,
    test: Annotated[list[Path] | None, typer.Option(help="A file to score the model on; may be repeated.")] = None,
    format: Annotated[str | None, typer.Option(help="Format of the files; default: detected.")] = None,
    tag_columns: TagColumns = None,
    annotator: AnnotatorName = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="Keep three of the encoder's six layers: about twice as fast, a lower F1.")
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="Train a new model also for small data, instead of the general model further.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a recipe that exists.")] = False,
    probe: Annotated[
        bool, typer.Option("--probe/--no-probe", help="Time a few training steps to choose the precision and estimate.")
    ] = True,
) -> None:
    """Inspect labeled data and write a commented recipe with a model that fits, the reason and the training time.

    Without a dev file, a tenth of the training documents is split off for dev.

    Example: spanwise init train.jsonl dev.jsonl --out recipe.yaml
    Example: spanwise init train.jsonl --fast --out fast.yaml
    """
    from spanwise import corpora, formats
    from spanwise.corpora.splitting import can_split_off
    from spanwise.files import write_text
    from spanwise.recipe.advice import DEV_SHARE, recommend
    from spanwise.text.alignment import align
    from spanwise.text.profile import profile, rare_labels_notice

    if recipe.exists() and not force:
        raise InputError(f"{recipe} exists; give another --out, or --force to replace it.")
    train, named_dev, named_test = corpora.infer_splits(files)
    splits = {"train": train, "dev": [*named_dev, *(dev or [])], "test": [*named_test, *(test or [])]}
    report, columns = formats.Report(), formats.parse_columns(tag_columns)
    with err.status("reading"):
        corpus = corpora.from_files(
            *(splits["train"], splits["dev"], splits["test"]),
            format=format,
            tag_columns=columns,
            annotator=annotator,
            report=report,
        )
        found = profile(align(document) for document in corpus.splits["train"])
    print_report(report)
    if rare := found.rare_labels():
        err.print(f"note: {rare_labels_notice(rare)}", markup=False, soft_wrap=True)
    has_dev = bool(splits["dev"]) or can_split_off(corpus.splits["train"], DEV_SHARE)
    if not has_dev:
        err.print("note: the documents are too few to split dev off; the last epoch is kept.", markup=False)
    reading = {"tag_columns": list(columns), "annotator": annotator}
    recipe_text = partial(
        recommend, found, splits, recipe, format, reading=reading, split_off_dev=has_dev, fast=fast, new=new
    )
    write_text(recipe, recipe_text())
    if probe and (timing := _timing(recipe)):
        write_text(recipe, recipe_text(timing))
    out.print(recipe.read_text(encoding="utf-8"), markup=False, soft_wrap=True)
    out.print(f"next: spanwise train {recipe} --out runs/mine", markup=False, soft_wrap=True)


def _timing(recipe: Path) -> Timing | None:
    """What a few timed steps of the recipe say about its training, which runs in child processes."""
    from spanwise.recipe.advice import Timing
    from spanwise.training.probe import probe

    with err.status("timing a few training steps"):
        found = probe(recipe)
    if found is None:
        err.print("note: the training steps could not be timed, so there is no estimate.", markup=False)
        return None
    return Timing(found.precision, str(found))
