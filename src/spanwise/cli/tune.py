"""`spanwise tune`: thresholds per label and temperatures, chosen on labeled data and stored with the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from spanwise.cli.app import app, emit_json, err, out
from spanwise.cli.evaluate import labeled_documents, labeled_files
from spanwise.cli.options import asked_labels
from spanwise.cli.reports import print_report
from spanwise.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from spanwise.evaluation import Effect, Objective
    from spanwise.metrics import Scores
    from spanwise.pipeline.tuning import Tuning
    from spanwise.text.alignment import AlignedDocument


class Measured(NamedTuple):
    """Effects on one file: of the model as it was, with the temperatures alone, and with the thresholds too."""

    name: str
    role: str
    before: Effect
    calibrated: Effect
    after: Effect

    @property
    def effects(self) -> tuple[Effect, Effect, Effect]:
        return self.before, self.calibrated, self.after

    def to_dict(self) -> dict[str, Any]:
        stages = zip(("before", "calibrated", "after"), self.effects, strict=True)
        return {"data": self.name, "role": self.role, **{stage: effect.to_dict() for stage, effect in stages}}


class Best(StrEnum):
    """What can be maximized without a required value."""

    F1 = "f1"


@app.command()
def tune(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="A model folder; the result is stored there, or in --out.")],
    file: Annotated[
        Path | None, typer.Argument(help="Labeled data, not used in training; default: dev of the model's own recipe.")
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="A named corpus instead of a file.")] = None,
    split: Annotated[str, typer.Option(help="The split of the corpus or recipe to tune on.")] = "dev",
    test: Annotated[Path | None, typer.Option(help="Another labeled file, on which the effect is shown.")] = None,
    test_split: Annotated[
        str | None, typer.Option(help="Another split of the corpus or recipe, on which the effect is shown.")
    ] = None,
    best: Annotated[Best | None, typer.Option(help="Maximize this score; the default.", show_default=False)] = None,
    precision: Annotated[
        float | None, typer.Option(min=0, max=1, help="Highest recall with at least this precision.")
    ] = None,
    recall: Annotated[
        float | None, typer.Option(min=0, max=1, help="Highest precision with at least this recall.")
    ] = None,
    temperature: Annotated[
        bool,
        typer.Option("--temperature/--no-temperature", help="Also fit temperatures, so that scores are calibrated."),
    ] = True,
    heads: Annotated[
        bool,
        typer.Option(
            "--heads", help="Compare entities by their head regions, where marked; always if the model was trained so."
        ),
    ] = False,
    labels: Annotated[
        str | None,
        typer.Option(
            help="For a model with open labels: names with commas between them, or a YAML file of descriptions.",
            show_default=False,
        ),
    ] = None,
    copy: Annotated[
        Path | None, typer.Option("--out", help="A new folder for the model, instead of changing its own.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the effect and store nothing.")] = False,
    reset: Annotated[
        bool, typer.Option("--reset", help="Remove what was stored, for all members or that of --reader.")
    ] = False,
    format: Annotated[str | None, typer.Option(help="Format of the files; default: detected.")] = None,
    reader: Annotated[
        str | None, typer.Option(help="The member of a bundle that is tuned or reset, by model name.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where to run: auto (CUDA where there is any), cpu, cuda, …")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; default: all cores.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Choose thresholds per label and temperatures on labeled data, and store them in the model folder.

    Example: spanwise tune runs/mine dev.jsonl --test test.jsonl
    Example: spanwise tune runs/mine dev.jsonl --precision 0.9
    Example: spanwise tune runs/mine --corpus wnut17 --test-split test --dry-run
    Example: spanwise tune general few.jsonl --labels "drug, symptom" --out runs/drugs
    Example: spanwise tune runs/mine --reset
    """
    from spanwise.evaluation.storage import local_folder, store
    from spanwise.evaluation.storage import reset as remove

    folder = local_folder(model) if copy is None else _copied(model, labels, copy)
    if labels and copy is None:
        raise InputError("--labels makes a model for these labels; give the folder for it with --out.")
    if reset:
        _refuse_with_reset(context)
        remove(folder, reader)
        whose = f"{model}: {reader}" if reader else model
        err.print(f"{whose}: thresholds and temperatures are those of the trained model", markup=False)
        return
    if (file and corpus) or (test and test_split):
        raise InputError("give data either as a file or as a split: FILE or --corpus, --test or --test-split.")
    if format and not (file or test):
        raise InputError("--format is for files; give a labeled file, or leave it out.")
    from spanwise import runtime
    from spanwise.evaluation import tune as choose
    from spanwise.evaluation import tuning_effects
    from spanwise.inference.extractor import Extractor

    objective = _objective(best, precision, recall)
    heads = heads or _trained_on_heads(folder)
    gold = _gold(folder, file, corpus, split, format, heads)
    shown = _gold(folder, test, corpus, test_split or "", format, heads) if test or test_split else None
    runtime.set_threads(threads)
    extractor = Extractor.from_pretrained(folder, device=device, reader=reader)
    with _progress() as progress:
        result = choose(extractor, gold, objective, temperature=temperature, progress=progress)
        tunings = [extractor.pipeline.reader.tuning, result.temperatures, result.tuning]
        effects = shown and tuning_effects(extractor, shown, tunings, progress)
    source, member = _name(file, corpus, split), extractor.pipeline.reader.name
    if not dry_run:
        store(folder, member, result, source)
    for note in result.notes:
        err.print(f"note: {note}", markup=False, soft_wrap=True)
    names = _distinct([(source, file), (_name(test, corpus, test_split or ""), test)])
    measured = [Measured(names[0], "chosen on this data", result.before, result.calibrated, result.after)]
    if effects:
        measured.append(Measured(names[1], "another file" if test else "another split", *effects))
    if as_json:
        emit_json(_as_json(member, result.tuning, measured, result.notes, stored=not dry_run))
    else:
        _print(result.tuning, measured)
        err.print("nothing was stored (--dry-run)" if dry_run else f"stored in {folder}", markup=False)


def _copied(model: str, labels: str | None, folder: Path) -> Path:
    """The model in a new folder, with the labels that it is asked for."""
    from spanwise.inference.extractor import Extractor
    from spanwise.inference.sources import model_folder
    from spanwise.pipeline.folder import stored_rank

    if folder.exists():
        raise InputError(f"{folder} exists; give another --out.")
    extractor = Extractor.from_pretrained(model)
    asked = extractor if labels is None else extractor.with_labels(asked_labels(labels))
    asked.save_pretrained(folder, rank=stored_rank(model_folder(model)))
    return folder


def _refuse_with_reset(context: typer.Context) -> None:
    given = [
        _as_given(parameter, context.params[parameter.name])
        for parameter in context.command.params
        if parameter.name in context.params.keys() - {"model", "reader", "reset"}
        and getattr(context.get_parameter_source(parameter.name), "name", "DEFAULT") != "DEFAULT"
    ]
    if given:
        raise InputError(f"--reset removes what was stored and takes only --reader; leave out {', '.join(given)}.")


def _as_given(parameter: Any, value: object) -> str:
    if parameter.param_type_name == "argument":
        return "the file"
    return str((parameter.secondary_opts if value is False else parameter.opts)[0])


def _objective(best: Best | None, precision: float | None, recall: float | None) -> Objective:
    from spanwise.evaluation import Objective

    if sum(value is not None for value in (best, precision, recall)) > 1:
        raise InputError("--best, --precision and --recall exclude each other; give one of them.")
    if precision is not None:
        return Objective("precision", precision)
    return Objective() if recall is None else Objective("recall", recall)


def _trained_on_heads(folder: Path) -> bool:
    """Whether the model's own recipe narrows entities to their head regions."""
    from spanwise.recipe import RECIPE, Recipe

    return (folder / RECIPE).is_file() and Recipe.load(folder / RECIPE).data.heads


def _gold(
    folder: Path, file: Path | None, corpus: str | None, split: str, format: str | None, heads: bool
) -> list[AlignedDocument]:
    from spanwise.text.alignment import align

    if file is not None:
        gold, report = labeled_files([file], format, None, None, False)
    else:
        gold, report = labeled_documents(folder, corpus, split, verb="tune")
    print_report(report)
    return [align(row.document.with_head_spans()) for row in gold] if heads else gold


def _name(file: Path | None, corpus: str | None, split: str) -> str:
    """The data as tables and the model card name it: without folders."""
    return file.name if file else f"{corpus} {split}" if corpus else split


def _distinct(sources: Sequence[tuple[str, Path | None]]) -> list[str]:
    """The names as the result shows them: files with equal names by their paths."""
    names = [name for name, _ in sources]
    return [str(path) if path and names.count(name) > 1 else name for name, path in sources]


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for the stage that runs."""
    from rich.progress import Progress

    with Progress(console=err, transient=True, disable=not err.is_terminal) as bars:
        bar = bars.add_task("tuning")
        yield lambda stage, done, total: bars.update(bar, description=stage, completed=done, total=total)


def _as_json(
    member: str,
    tuning: Tuning,
    measured: Sequence[Measured],
    notes: tuple[str, ...],
    *,
    stored: bool,
) -> dict[str, Any]:
    return {
        "member": member,
        "tuning": tuning.model_dump(mode="json"),
        "effects": [each.to_dict() for each in measured],
        "notes": notes,
        "stored": stored,
    }


def _print(tuning: Tuning, measured: Sequence[Measured]) -> None:
    for each in measured:
        before, effects, after = each.before, each.effects, each.after
        out.print(f"[bold]{_escaped(each.name)}[/] ({each.role}), before → after", soft_wrap=True)
        out.print(_table(before.scores.entities, after.scores.entities, before.thresholds, after.thresholds))
        errors = {"entities": [effect.calibration_error for effect in effects]}
        if before.scores.relations and after.scores.relations:
            out.print("relations (RE+)")
            scores = (before.scores.relations.strict, after.scores.relations.strict)
            out.print(_table(*scores, before.relation_thresholds, after.relation_thresholds))
            errors["relations"] = [effect.relation_calibration_error for effect in effects]
        for kind, values in errors.items():
            old, scaled, new = (_error(value) for value in values)
            out.print(
                f"expected calibration error of {kind}: {old}; with temperature {scaled}; and thresholds {new}",
                soft_wrap=True,
            )
        out.print()
    out.print(f"temperature of entities {tuning.temperature:g}, of relations {tuning.relation_temperature:g}")


def _table(before: Scores, after: Scores, old: Mapping[str, float], new: Mapping[str, float]) -> Table:
    from rich.table import Table

    table = Table("label", "gold", "threshold", "precision", "recall", "F1")
    for column in table.columns[1:]:
        column.justify = "right"
    for label in sorted({*before.labels, *after.labels}):
        scores = before.labels.get(label), after.labels.get(label)
        gold = next(str(score.gold) for score in scores if score)
        table.add_row(_escaped(label), gold, f"{old[label]:.3g} → {new[label]:.3g}", *_changes(*scores))
    table.add_section()
    table.add_row("micro", str(before.micro.gold), "", *_changes(before.micro, after.micro))
    table.add_row("macro", "", "", *_changes(before.macro, after.macro))
    return table


def _changes(before: object, after: object) -> list[str]:
    """Precision, recall and F1 in percent; a label that is neither in gold nor predicted has 0."""
    names = ("precision", "recall", "f1")
    return [f"{100 * getattr(before, name, 0.0):.1f} → {100 * getattr(after, name, 0.0):.1f}" for name in names]


def _error(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
