"""Suites of training runs: every variant with every seed on a corpus, scored on test, beside the paper's figures.

A finished run is a line in `results.jsonl`. A stopped suite goes on where it was: runs with a line are not repeated,
and a run that was cut off resumes from its checkpoint.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from datetime import date
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from spanwise.errors import FormatError, RecipeError
from spanwise.recipe import RECIPES, Recipe, find_recipe, override

SUITES = RECIPES / "suites"
RESULTS = "results.jsonl"
Assignments = dict[str, Any]


class Variant(BaseModel):
    """A shipped recipe and what is different about it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str
    set: Assignments = {}
    paper: str | None = None  # the name of the paper's figures, where it is not the variant's own


class Suite(BaseModel):
    """What a benchmark runs: variants, settings per corpus, and the paper's figures (P, R, F1) where it has any."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    settings: str | None = None  # the suite whose settings per corpus hold here too
    variants: dict[str, Variant]
    corpora: dict[str, Assignments] = {}
    paper: dict[str, dict[str, tuple[float, float, float]]] = {}

    @classmethod
    def load(cls, name: str) -> Suite:
        path = SUITES / f"{name}.yaml"
        if not path.is_file() or path.parent != SUITES:
            raise RecipeError(f"there is no suite {name!r}; there are {', '.join(names())}.")
        suite = cls.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        return suite.model_copy(update={"corpora": cls.load(suite.settings).corpora}) if suite.settings else suite

    def recipe(self, variant: str, corpus: str, seed: int, assignments: Sequence[str] = ()) -> Recipe:
        """The variant's recipe with the corpus' settings, then the variant's own, then the user's."""
        chosen = self.variants[variant]
        data = yaml.safe_load(find_recipe(chosen.recipe).read_text(encoding="utf-8"))
        settings = {**self.corpora.get(corpus, {}), **chosen.set, "data.corpus": corpus, "train.seed": seed}
        written = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
        return Recipe.parse(override(data, [*written, *assignments]), f"suite variant {variant!r}")


def names() -> list[str]:
    return sorted(path.stem for path in SUITES.glob("*.yaml"))


@dataclass(frozen=True, slots=True)
class Run:
    """One training of a suite; `recipe` is all that the result depends on."""

    suite: str
    corpus: str
    variant: str
    seed: int
    recipe: Recipe

    @property
    def key(self) -> str:
        """Equal for equal work: the name of the run's folder and the mark of its result."""
        return sha256(self.recipe.dump().encode()).hexdigest()[:16]


def plan(name: str, corpus: str, seeds: int, assignments: Sequence[str] = ()) -> list[Run]:
    """Every run of a suite, seeds first, so that an early stop leaves whole comparisons."""
    suite = Suite.load(name)
    return [
        Run(name, corpus, variant, seed, suite.recipe(variant, corpus, seed, assignments))
        for seed in range(1, seeds + 1)
        for variant in suite.variants
    ]


def read_results(folder: Path) -> list[dict[str, Any]]:
    path = folder / RESULTS
    if not path.exists():
        return []
    *lines, _ = path.read_text(encoding="utf-8").split("\n")  # behind the last line end: what a kill cut off
    try:
        return [json.loads(line) for line in lines if line.strip()]
    except ValueError as error:
        raise FormatError(f"this is not a file of results ({error}); move it away.", path) from None


def append_result(folder: Path, result: Mapping[str, Any]) -> None:
    """Add a line that is on disk when this returns, in the place of one that a kill cut off."""
    with (folder / RESULTS).open("ab+") as file:
        file.seek(0)
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)
        file.write(json.dumps(result, ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def execute(run: Run, folder: Path, threads: int | None, keep: bool) -> dict[str, Any]:
    """Train and score one run; gives the line for `results.jsonl`."""
    from spanwise import corpora, runtime
    from spanwise.inference.evaluation import evaluate_model
    from spanwise.inference.extractor import Extractor
    from spanwise.training.reporting import Told
    from spanwise.training.run import ENVIRONMENT, SUMMARY, train

    runtime.set_threads(threads)
    told = Told()
    corpus = corpora.load(run.corpus)
    place = folder / "runs" / run.key
    if not (place / SUMMARY).exists():
        train(run.recipe, place, told, corpus)
    environment = json.loads((place / ENVIRONMENT).read_text(encoding="utf-8"))
    summary = json.loads((place / SUMMARY).read_text(encoding="utf-8"))
    test = evaluate_model(Extractor.from_pretrained(place), corpus.split("test"))
    if not keep:
        shutil.rmtree(place)
    return {
        "suite": run.suite,
        "corpus": run.corpus,
        "variant": run.variant,
        "seed": run.seed,
        "key": run.key,
        "test": asdict(test.entities.micro),
        "test_macro_f1": test.entities.macro.f1,
        "dev_f1": summary["dev_f1"],
        "best_epoch": summary["best_epoch"],
        "seconds": summary["seconds"],
        "date": str(date.today()),
        "told": told.sentences,
        "environment": environment,
        "recipe": run.recipe.model_dump(mode="json"),
    }


def run_suite(
    runs: Sequence[Run],
    folder: Path,
    *,
    jobs: int = 1,
    keep: bool = False,
    finished: Callable[[dict[str, Any]], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Do the runs that have no result yet, `jobs` at a time with one thread each; gives the results of all."""
    folder.mkdir(parents=True, exist_ok=True)
    done = {result["key"] for result in read_results(folder)}
    for result in _execute_all([run for run in runs if run.key not in done], folder, jobs, keep):
        append_result(folder, result)
        finished(result)
    found = {result["key"]: result for result in read_results(folder)}
    return [{**found[run.key], "suite": run.suite, "variant": run.variant} for run in runs]


def _execute_all(runs: Sequence[Run], folder: Path, jobs: int, keep: bool) -> Iterator[dict[str, Any]]:
    if jobs == 1:
        yield from (execute(run, folder, None, keep) for run in runs)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(execute, run, folder, 1, keep) for run in runs]
        try:
            for future in as_completed(waiting):
                yield future.result()
        except BrokenProcessPool:
            raise RecipeError(
                "a run's process was ended from outside; start again, perhaps with fewer --jobs."
            ) from None
        finally:
            for future in waiting:  # no shutdown(wait=False): its thread dies with a traceback (CPython gh-119592)
                future.cancel()


@dataclass(frozen=True, slots=True)
class Row:
    """A variant's scores over its seeds, in per cent: mean and, from two runs on, standard deviation."""

    variant: str
    runs: int
    mean: Mapping[str, float]
    std: Mapping[str, float] | None
    paper: tuple[float, float, float] | None

    def cell(self, key: str) -> str:
        return f"{self.mean[key]:.2f}" + (f" ± {self.std[key]:.2f}" if self.std else "")


def summarize(name: str, corpus: str, results: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The suite's table: one row per variant that has results."""
    suite = Suite.load(name)
    rows = []
    for variant, described in suite.variants.items():
        found = [result for result in results if result["variant"] == variant]
        if not found:
            continue
        values = {key: [100 * result["test"][key] for result in found] for key in ("precision", "recall", "f1")}
        rows.append(
            Row(
                variant,
                len(found),
                {key: mean(scores) for key, scores in values.items()},
                {key: stdev(scores) for key, scores in values.items()} if len(found) > 1 else None,
                suite.paper.get(corpus, {}).get(described.paper or variant),
            )
        )
    return rows


def markdown(rows: Sequence[Row]) -> str:
    """The table as it stands in the documentation."""
    lines = ["| model | runs | P | R | F1 | paper P / R / F1 |", "|---|---|---|---|---|---|"]
    for row in rows:
        paper = " / ".join(f"{value:.2f}" for value in row.paper) if row.paper else "–"
        cells = [row.cell(key) for key in ("precision", "recall", "f1")]
        lines.append(f"| {row.variant} | {row.runs} | {' | '.join(cells)} | {paper} |")
    return "\n".join(lines) + "\n"
