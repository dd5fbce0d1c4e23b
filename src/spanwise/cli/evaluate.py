"""`spanwise evaluate`: a model's scores on labeled data."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanwise.cli.app import app, emit_json, err, out
from spanwise.cli.options import AnnotatorName, TagColumns
from spanwise.cli.reports import print_report
from spanwise.errors import CorpusError, InputError
from spanwise.plural import counted

if TYPE_CHECKING:
    from rich.table import Table

    from spanwise.formats import Report
    from spanwise.metrics import Evaluation, Score, Scores
    from spanwise.text.alignment import AlignedDocument


class Breakdown(StrEnum):
    """What entities can be grouped by."""

    WIDTH = "width"
    NESTING = "nesting"


@app.command()
def evaluate(
    model: Annotated[str, typer.Argument(help="A model folder, or OWNER/NAME on the hub.")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="Labeled files; default: the data of the model's own recipe.")
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="A named corpus instead of files.")] = None,
    split: Annotated[str, typer.Option(help="The split of the corpus or recipe.")] = "test",
    format: Annotated[str | None, typer.Option(help="Format of the files; default: detected.")] = None,
    tag_columns: TagColumns = None,
    annotator: AnnotatorName = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Lowest probability of an entity; default: the model's.")
    ] = None,
    relation_threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Lowest probability of a relation; default: the model's.")
    ] = None,
    by: Annotated[
        list[Breakdown] | None, typer.Option(help="Also score entities by width or nesting; may be repeated.")
    ] = None,
    heads: Annotated[bool, typer.Option("--heads", help="Score entities by their head regions, where marked.")] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip bad records and count them.")] = False,
    reader: Annotated[
        str | None, typer.Option(help="The member of a bundle that makes the predictions, by model name.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where to run: auto (CUDA where there is any), cpu, cuda, …")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; default: all cores.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Strict precision, recall and F1 of a model, of entities and relations: micro, macro and per label.

    Example: spanwise evaluate runs/mine test.jsonl
    Example: spanwise evaluate runs/mine --corpus wnut17 --split test
    Example: spanwise evaluate runs/bundle --reader seq-ner
    """
    if files and corpus is not None:
        raise InputError("give either labeled files or --corpus NAME.")
    if not files and (format or tag_columns or annotator or skip_bad):
        raise InputError(
            "--format, --tag-columns, --annotator and --skip-bad are for files; give labeled files, or leave them out."
        )
    from spanwise import runtime
    from spanwise.evaluation import evaluate as score
    from spanwise.evaluation import unreachable_notices
    from spanwise.inference.extractor import Extractor
    from spanwise.inference.sources import model_folder

    folder = model_folder(model)
    if files:
        gold, report = labeled_files(files, format, tag_columns, annotator, skip_bad)
    else:
        gold, report = labeled_documents(folder, corpus, split)
    runtime.set_threads(threads)
    with err.status(counted(len(gold), "document")):
        extractor = Extractor.from_pretrained(folder, device=device, reader=reader)
        result = score(extractor, gold, threshold, relation_threshold, heads=heads)
    print_report(report)
    for sentence in unreachable_notices(extractor, gold):
        err.print(f"note: {sentence}", markup=False, soft_wrap=True)
    if as_json:
        emit_json(result.to_dict())
    else:
        print_scores(result)
        for breakdown in by or ():
            print_groups(breakdown, result)


def labeled_files(
    files: list[Path], format: str | None, tag_columns: str | None, annotator: str | None, skip_bad: bool
) -> tuple[list[AlignedDocument], Report]:
    """The labeled documents of files, each aligned once, and what was found while reading them."""
    from spanwise.formats import Report, parse_columns, read
    from spanwise.text.alignment import align

    report, columns = Report(), parse_columns(tag_columns)
    asked = partial(read, format=format, tag_columns=columns, annotator=annotator, skip_bad=skip_bad, report=report)
    return list(map(align, chain.from_iterable(map(asked, files)))), report


def labeled_documents(
    model: Path, corpus: str | None, split: str, verb: str = "evaluate"
) -> tuple[list[AlignedDocument], Report]:
    """The labeled documents of a named corpus, or of the model's own recipe."""
    from spanwise import corpora
    from spanwise.corpora.selection import select
    from spanwise.formats import Report
    from spanwise.recipe import RECIPE, Recipe
    from spanwise.text.alignment import align

    if corpus is not None:
        return list(map(align, corpora.load(corpus).split(split))), Report()
    if not (model / RECIPE).is_file():
        raise InputError(f"{model} has no {RECIPE} that names its data; {_how_to_give(verb, model)}, or --corpus NAME.")
    recipe = Recipe.load(model / RECIPE)
    data = select(recipe.data, seed=recipe.train.seed)
    if split in recipe.data.train_on:
        err.print(f"note: the model was trained on {split}; these scores do not show how well it does on new text.")
    try:
        return list(data.split(split)), data.report
    except CorpusError as error:
        sentence = str(error).removesuffix(".")
        raise InputError(f"{sentence}; {_how_to_give(verb, model)}, or choose a split with --split.") from None


def _how_to_give(verb: str, model: Path) -> str:
    return f"give a labeled file (`spanwise {verb} {model} FILE`)"


def print_scores(result: Evaluation) -> None:
    """Entities, then relations where there are any."""
    table = scores_table(result.entities)
    found = result.boundaries
    table.add_row("boundaries alone", *_percent(found), str(found.gold), str(found.predicted))
    out.print(table)
    if result.relations is not None:
        out.print("\n[bold]RE[/]: relations, label and both boundaries")
        out.print(scores_table(result.relations.boundaries))
        out.print("\n[bold]RE+[/]: both entity labels as well")
        out.print(scores_table(result.relations.strict))


def print_groups(breakdown: Breakdown, result: Evaluation) -> None:
    """Entities by their number of words, or by how they lie in one another."""
    out.print()
    out.print(
        _groups_table(*(("words", result.widths) if breakdown is Breakdown.WIDTH else ("nesting", result.nesting)))
    )


def scores_table(scores: Scores) -> Table:
    """Labels, then micro and macro averages, in percent."""
    table = _groups_table("label", scores.labels)
    table.add_section()
    table.add_row("micro", *_percent(scores.micro), str(scores.micro.gold), str(scores.micro.predicted))
    table.add_row("macro", *_percent(scores.macro))
    return table


def _groups_table(name: str, groups: Mapping[str, Score]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(name, *("precision", "recall", "F1", "gold", "predicted"))
    for column in table.columns[1:]:
        column.justify = "right"
    for group, score in groups.items():
        table.add_row(escape(group), *_percent(score), str(score.gold), str(score.predicted))
    return table


def _percent(score: object) -> list[str]:
    return [f"{100 * getattr(score, name):.2f}" for name in ("precision", "recall", "f1")]
