"""`spanwise benchmark`: suites of runs, with a table at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanwise.cli.app import app, emit_json, err, out, print_table
from spanwise.cli.evaluate import Breakdown
from spanwise.cli.exhibits import Format, emit, list_exhibits
from spanwise.cli.train import stoppable
from spanwise.cli.zero_shot import zero_shot
from spanwise.errors import InputError

if TYPE_CHECKING:
    from spanwise.benchmark import Exhibit, Run
    from spanwise.benchmark.results import Result


@app.command()
def benchmark(
    name: Annotated[
        str | None, typer.Argument(help="A suite such as joint, or a table or figure of a paper such as lear-t2.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the papers' tables and figures and what is recorded, and exit.")
    ] = False,
    corpus: Annotated[
        str | None, typer.Option(help="The corpus to train and score on, or one fold of it, such as ade/0.")
    ] = None,
    train: Annotated[
        list[Path] | None, typer.Option(help="Your own training file instead of a corpus; may be repeated.")
    ] = None,
    dev: Annotated[
        list[Path] | None, typer.Option(help="A file of your own to choose the best epoch on; may be repeated.")
    ] = None,
    test: Annotated[list[Path] | None, typer.Option(help="A file of your own to score on; may be repeated.")] = None,
    own_name: Annotated[
        str | None,
        typer.Option(
            "--name", help="What your own files are called in results; ace05 puts the papers' figures for it beside."
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder of results.jsonl, where a stopped suite resumes; default: benchmarks/results/SUITE.",
        ),
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs per variant, with seeds 1 to N; default: 1.")] = None,
    folds: Annotated[int | None, typer.Option(min=1, help="Run on the corpus' first N folds and average.")] = None,
    variant: Annotated[list[str] | None, typer.Option(help="Only this variant; may be repeated.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Runs in parallel, each in a process with one thread.")] = 1,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Override a key: --set train.epochs=3")] = None,
    shots: Annotated[
        int | None, typer.Option(min=1, help="Train on N documents per label, sampled with train.seed.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the trained models.")] = False,
    best: Annotated[
        bool, typer.Option("--best", help="Also show the best run and, from six seeds on, the mean of the top five.")
    ] = False,
    by: Annotated[
        list[Breakdown] | None, typer.Option(help="Also F1 by width or by nesting of entities; may be repeated.")
    ] = None,
    recorded: Annotated[bool, typer.Option("--recorded", help="Show what is recorded; run nothing.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write an analysis of the variants' predictions into this folder (report.html).")
    ] = None,
    format: Annotated[Format, typer.Option(help="How the table or figure is written.")] = Format.TEXT,
    save: Annotated[Path | None, typer.Option(help="File for --format; a folder if there are several figures.")] = None,
    model: Annotated[
        Path | None, typer.Option(help="With zero-shot: a trained model folder to score, instead of training one.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="With zero-shot: score at most N documents of each corpus.")
    ] = None,
    split: Annotated[
        str, typer.Option(help="With zero-shot: test, or dev to choose settings (train where a corpus has no dev).")
    ] = "test",
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="With zero-shot: lowest probability; default: the model's.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Train every variant of a suite with every seed and print mean and standard deviation beside the paper's figures.

    Runs that are already recorded are not repeated. A table or figure of a paper is made from the runs of its suite.
    zero-shot trains the recipe `general` without some of its corpora, in folds, and scores it on these; its models and
    scores are in runs/zero-shot by default.

    Example: spanwise benchmark --list
    Example: spanwise benchmark lear-t2 --corpus conll04
    Example: spanwise benchmark bl-ner-f5 --recorded --format svg --save alpha.svg
    Example: spanwise benchmark bl-ner --corpus wnut17 --seeds 3 --jobs 2 --out benchmarks/results/bl-ner
    Example: spanwise benchmark bl-ner --train train.jsonl --dev dev.jsonl --test test.jsonl
    Example: spanwise benchmark zero-shot --out runs/zero-shot
    Example: spanwise benchmark zero-shot --model general --corpus conll04
    """
    from spanwise import benchmark as suites
    from spanwise.benchmark.papers import MAX_SEEDS, RESULTS

    if name == "zero-shot":
        from spanwise.benchmark.zero_shot import Asking

        zero_shot(model, folder, corpus, Asking(split, sample, threshold), set_ or [], as_json, recorded=recorded)
        return
    if model is not None or sample is not None or threshold is not None or split != "test":
        raise InputError("--model, --split, --sample and --threshold are for zero-shot; leave them out.")
    if listed:
        list_exhibits(folder or RESULTS, as_json)
        return
    files = {"train": train or [], "dev": dev or [], "test": test or []}
    request = _request(name, corpus, files, own_name, folds)
    _check_output(request, format, save, as_json, best=best or bool(by))
    if request.exhibit is not None and request.exhibit.suite is None:
        _show_without_runs(request.exhibit, format, save, as_json)
        return
    chosen = [*(set_ or ()), *([] if shots is None else [f"data.shots={shots}"])]
    seeds = seeds or (MAX_SEEDS if recorded else request.seeds)
    runs = suites.plan(
        *(request.suite, request.corpus, seeds, chosen),
        folds=folds,
        variants=variant or request.variants,
        files=request.files,
    )
    place = folder or suites.results_folder(request.suite)
    for breakdown in by or ():
        suites.check_groups(suites.find_results(runs, place), breakdown)
    results = suites.find_results(runs, place) if recorded else _run(request, runs, place, jobs, keep)
    if report is not None:
        _write_report(results, place, report)
    if request.exhibit is not None:
        _show(request.exhibit, request.corpus, results, place, format, save, as_json)
        return
    suite, corpus = request.suite, request.corpus
    table = suites.summarize(suite, corpus, results, best=best or as_json)
    groups = {breakdown: suites.summarize(suite, corpus, results, by=breakdown) for breakdown in by or ()}
    comparisons = suites.compare(suite, results)
    if format is not Format.TEXT:
        emit([suites.to_element(table)], format, save)
        return
    if as_json:
        found = {"rows": [asdict(row) for row in table.rows], "comparisons": [asdict(c) for c in comparisons]}
        found |= {f"by_{breakdown}": [asdict(row) for row in grouped.rows] for breakdown, grouped in groups.items()}
        emit_json({"suite": suite, "corpus": corpus, "seeds": seeds, "folds": folds, **found})
        return
    print_table(", ".join(filter(None, (table.title, table.spread))), table.header, table.body)
    for grouped in groups.values():
        header, *body = grouped.transposed
        print_table(grouped.title, header, body)
    if comparisons:
        title = f"two-sided p by paired approximate randomization, {comparisons[0].trials:,} trials"
        print_table(title, suites.Comparison.HEADER, [comparison.cells for comparison in comparisons])


@dataclass(frozen=True, slots=True)
class _Request:
    """What to run: a suite on a corpus or on the user's own files, for itself or for a table or figure."""

    suite: str
    corpus: str
    files: Mapping[str, Sequence[Path]] | None
    exhibit: Exhibit | None

    @property
    def seeds(self) -> int:
        return self.exhibit.seeds if self.exhibit else 1

    @property
    def variants(self) -> Sequence[str]:
        return self.exhibit.variants if self.exhibit else ()


def _request(
    name: str | None, corpus: str | None, files: Mapping[str, Sequence[Path]], own_name: str | None, folds: int | None
) -> _Request:
    from spanwise.benchmark import corpus_name
    from spanwise.benchmark.papers import exhibits

    if name is None:
        raise typer.BadParameter("give a suite, or a table or figure; --list names the tables and figures.")
    exhibit = exhibits().get(name)
    if exhibit is not None and corpus is None and not any(files.values()):
        corpus = exhibit.corpora[0]
    own = _own_files(corpus, files, folds)
    if own is None and own_name is not None:
        raise InputError("--name is for files of your own; leave it out with --corpus.")
    suite = exhibit.suite if exhibit and exhibit.suite else name
    return _Request(suite, corpus or own_name or corpus_name(own or {}), own, exhibit)


def _own_files(
    corpus: str | None, files: Mapping[str, Sequence[Path]], folds: int | None
) -> Mapping[str, Sequence[Path]] | None:
    """The user's own files by split, or None where a corpus is named."""
    given = any(files.values())
    if (corpus is None) != given or (given and not (files["train"] and files["test"])):
        raise InputError("give either --corpus NAME, or files of your own with --train, --test and perhaps --dev.")
    if given and folds is not None:
        raise InputError("--folds is for a corpus that comes in folds; leave it out with files of your own.")
    for path in (path for paths in files.values() for path in paths):
        if not path.exists():
            raise InputError(f"{path}: no such file or folder; check the path.")
    return files if given else None


def _run(request: _Request, runs: Sequence[Run], folder: Path, jobs: int, keep: bool) -> list[Result]:
    """The results of all runs, with a line for each that had to be done."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from spanwise.benchmark import Suite, get_path, recorded, run_suite

    suite = Suite.load(request.suite)

    def usable(result: Result) -> bool:
        return request.exhibit is None or request.exhibit.holds(result, folder)

    done = {name for name, result in recorded(folder).items() if usable(result)}
    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("runs", total=len(runs), completed=sum(run.name in done for run in runs))

        def finished(result: Result) -> None:
            progress.advance(task)
            score = get_path(result, suite.columns[suite.best_by])
            shown = "–" if score is None else f"{100 * score:.2f}"
            name = f"{result['variant']}, {result['corpus']}, seed {result['seed']}"
            line = f"{name}: {result['split']} {suite.best_by} {shown}, {result['seconds']:.0f} s"
            err.print(line, markup=False, soft_wrap=True)

        if jobs > 1:  # a signal reaches the processes as well; their last checkpoints are at most minutes old
            return run_suite(runs, folder, jobs=jobs, keep=keep, finished=finished, usable=usable)
        with stoppable() as stop:
            return run_suite(runs, folder, keep=keep, finished=finished, usable=usable, stop=stop)


def _check_output(request: _Request, format: Format, save: Path | None, as_json: bool, *, best: bool) -> None:
    """Refuse options that would have no effect."""
    if save is not None and format is Format.TEXT:
        raise InputError("--save needs --format markdown, latex, csv or svg.")
    if as_json and format is not Format.TEXT:
        raise InputError("--json and --format exclude each other; give one of them.")
    if request.exhibit is not None and best:
        raise InputError("--best and --by are for suites; a table or figure of a paper has its own columns.")


def _show(
    exhibit: Exhibit,
    corpus: str,
    results: Sequence[Result],
    folder: Path,
    format: Format,
    save: Path | None,
    as_json: bool,
) -> None:
    from spanwise.benchmark.exhibits import show

    usable = [result for result in results if exhibit.holds(result, folder)]
    emit(show(exhibit, corpus, usable, folder), format, save, as_json=as_json)


def _show_without_runs(exhibit: Exhibit, format: Format, save: Path | None, as_json: bool) -> None:
    """Statistics of the corpora, or the command and the page of a measurement of speed."""
    from spanwise.benchmark.exhibits import statistics

    if exhibit.script is None:
        emit([statistics(exhibit)], format, save, as_json=as_json)
        return
    out.print(f"{exhibit.title}\nmeasure: python {exhibit.script}\nmeasured: {exhibit.page}", highlight=False)


def _write_report(results: Sequence[Result], folder: Path, target: Path) -> None:
    """The analysis of the recorded predictions, as `spanwise analyze` writes it."""
    from spanwise.analysis import report as lay_out
    from spanwise.benchmark.analyses import analyze_results
    from spanwise.render.report_folder import PAGE, check_report_folder, write_report

    check_report_folder(target)
    found = analyze_results(results, folder)
    write_report(lay_out(found), target, found.to_dict(), found.suspicious.documents)
    err.print(f"report: {target / PAGE}", markup=False, soft_wrap=True)
