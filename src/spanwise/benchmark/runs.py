"""Plan and execute the runs of a suite. Finished runs are not repeated."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from datetime import date
from multiprocessing import get_context
from pathlib import Path

from spanwise.benchmark.predictions import predictions_path, write_predictions
from spanwise.benchmark.recording import record_model
from spanwise.benchmark.results import Result, append_result, key, recipe_to_dict, recorded, run_name
from spanwise.benchmark.scoring import score_model
from spanwise.benchmark.suite import Asked, Files, Suite
from spanwise.corpora import CORPORA, NAMES
from spanwise.errors import CorpusError, RecipeError
from spanwise.plural import counted
from spanwise.recipe import Recipe

Stop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Run:
    """One training run of a suite; its result depends only on `recipe` and on the split that it is scored on."""

    suite: str
    corpus: str
    variant: str
    seed: int
    recipe: Recipe
    split: str = "test"
    asked: Asked = field(default_factory=Asked)

    @property
    def key(self) -> str:
        return key(self.recipe)

    @property
    def name(self) -> str:
        return run_name(self.key, self.split)


def plan(
    name: str,
    corpus: str,
    seeds: int,
    assignments: Sequence[str] = (),
    *,
    folds: int | None = None,
    variants: Collection[str] = (),
    files: Files | None = None,
) -> list[Run]:
    """The runs of a suite or of some of its variants, seed by seed, so that an early stop leaves complete comparisons.

    With `folds`, the runs use the first `folds` folds of the corpus. With `files`, by split, the data are the
    user's own, and `corpus` is their name in results (see `corpus_name`).
    """
    suite = Suite.load(name)
    if unknown := [variant for variant in variants if variant not in suite.variants]:
        raise RecipeError(f"suite {name!r} has no variant {unknown[0]!r}; it has {', '.join(suite.variants)}.")
    return [
        Run(name, cut, variant, seed, suite.recipe(variant, cut, seed, assignments, files), suite.split, suite.asked)
        for seed in range(1, seeds + 1)
        for cut in _cuts(corpus, folds)
        for variant in suite.variants
        if variant in variants or not variants
    ]


def corpus_name(files: Files) -> str:
    """What results call the user's own files: as the first training file, but not as a named corpus."""
    first = files["train"][0]
    return first.name if first.stem in NAMES else first.stem


def _cuts(corpus: str, folds: int | None) -> list[str]:
    """The names of the data to train and score on: the corpus or its folds."""
    named = next((named for named in CORPORA if named.name == corpus), None)
    there = len(named.folds) if named else 0
    if folds is None:
        if named and there and "train" not in named.splits:
            raise CorpusError(f"corpus {corpus!r} comes in folds; give --folds {there}, or one fold: {corpus}/0.")
        return [corpus]
    if folds > there:
        known = counted(there, "fold") if there else "no folds"
        raise CorpusError(f"corpus {corpus!r} has {known}; give fewer --folds, or leave it out.")
    return [f"{corpus}/{fold}" for fold in range(folds)]


def execute(run: Run, folder: Path, threads: int | None, keep: bool, stop: Stop | None = None) -> Result:
    """Train and score one run; return its line for `results.jsonl`. `stop` is that of `train`."""
    from spanwise import corpora, runtime
    from spanwise.corpora.selection import select
    from spanwise.inference.extractor import Extractor
    from spanwise.training.reporting import NoticeCollector
    from spanwise.training.run import ENVIRONMENT, SUMMARY, train

    runtime.set_threads(threads)
    notices = NoticeCollector()
    corpus = corpora.load(run.corpus) if run.recipe.data.corpus is not None else None  # else the recipe names files
    place = folder / "runs" / run.name
    if not (place / SUMMARY).exists():
        train(run.recipe, place, notices, corpus, stop=stop)
    environment = json.loads((place / ENVIRONMENT).read_text(encoding="utf-8"))
    summary = json.loads((place / SUMMARY).read_text(encoding="utf-8"))
    extractor = Extractor.from_pretrained(place)
    data = select(run.recipe.data, seed=run.seed, corpus=corpus)
    scored = score_model(extractor, data, run.split)
    gold = [row.document for row in data.split(run.split)]
    result: Result = {
        "suite": run.suite,
        "corpus": run.corpus,
        "variant": run.variant,
        "seed": run.seed,
        "split": run.split,
        "key": run.key,
        **scored.scores,
        **record_model(run.asked, place, extractor, gold),
        "dev_f1": summary["dev_f1"],
        "best_epoch": summary["best_epoch"],
        "seconds": summary["seconds"],
        "date": str(date.today()),
        "notices": notices.sentences,
        "environment": environment,
        "recipe": recipe_to_dict(run.recipe),
    }
    write_predictions(predictions_path(folder, result), scored.predictions)
    if not keep:
        shutil.rmtree(place)
    return result


def run_suite(
    runs: Sequence[Run],
    folder: Path,
    *,
    jobs: int = 1,
    keep: bool = False,
    finished: Callable[[Result], None] = lambda _: None,
    usable: Callable[[Result], bool] = lambda _: True,
    stop: Stop | None = None,
) -> list[Result]:
    """Execute the runs without a usable result, `jobs` at a time; return all results.

    Parallel runs use one thread each. A single run at a time can be stopped with a checkpoint, as in `train`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    done = recorded(folder)
    waiting = [run for run in runs if run.name not in done or not usable(done[run.name])]
    for result in _execute_all(waiting, folder, jobs, keep, stop):
        append_result(folder, result)
        finished(result)
    return find_results(runs, folder)


def find_results(runs: Sequence[Run], folder: Path) -> list[Result]:
    """The results of the runs that have one, with the suite and variant names of the runs."""
    known = recorded(folder)
    return [{**known[run.name], "suite": run.suite, "variant": run.variant} for run in runs if run.name in known]


def _execute_all(
    runs: Sequence[Run], folder: Path, jobs: int, keep: bool, stop: Stop | None = None
) -> Iterator[Result]:
    if jobs == 1:
        yield from (execute(run, folder, None, keep, stop) for run in runs)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(execute, run, folder, 1, keep) for run in runs]
        try:
            for future in as_completed(waiting):
                yield future.result()
        except BrokenProcessPool:
            raise RecipeError(
                "the process of a run was killed; start again, with fewer --jobs if memory is short."
            ) from None
        finally:
            for future in waiting:  # not shutdown(wait=False): its thread dies with a traceback (CPython gh-119592)
                future.cancel()
