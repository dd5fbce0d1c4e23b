"""`spanwise init`: a recipe for one's own data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spanwise.cli.app import app, err, out
from spanwise.cli.reports import print_report
from spanwise.errors import InputError


@app.command()
def init(
    files: Annotated[list[Path], typer.Argument(help="Labeled files; splits are inferred from file names.")],
    recipe: Annotated[Path, typer.Option("--out", help="The recipe to write.")] = Path("recipe.yaml"),
    dev: Annotated[list[Path] | None, typer.Option(help="A file to choose the best model on; may be repeated.")] = None,
    test: Annotated[list[Path] | None, typer.Option(help="A file to score the model on; may be repeated.")] = None,
    format: Annotated[str | None, typer.Option(help="Format of the files; default: detected.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a recipe that exists.")] = False,
) -> None:
    """Look at labeled data and write a commented recipe with a model that fits, and why.

    Example: spanwise init train.jsonl dev.jsonl --out recipe.yaml
    """
    from spanwise import corpora, formats
    from spanwise.files import write_text
    from spanwise.recipe.advice import recommend
    from spanwise.text.alignment import align
    from spanwise.text.profile import profile

    if recipe.exists() and not force:
        raise InputError(f"{recipe} exists; give another --out, or --force to replace it.")
    train, named_dev, named_test = corpora.infer_splits(files)
    splits = {"train": train, "dev": [*named_dev, *(dev or [])], "test": [*named_test, *(test or [])]}
    report = formats.Report()
    with err.status("reading"):
        corpus = corpora.from_files(splits["train"], splits["dev"], splits["test"], format=format, report=report)
        text = recommend(profile(align(document) for document in corpus.splits["train"]), splits, recipe, format)
    print_report(report)
    write_text(recipe, text)
    out.print(text, markup=False, soft_wrap=True)
    out.print(f"next: spanwise train {recipe} --out runs/mine", markup=False, soft_wrap=True)
