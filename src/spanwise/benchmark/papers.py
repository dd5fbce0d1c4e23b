"""The inventory: the tables and figures of the five papers, each with the runs and the numbers that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, model_validator

from spanwise.benchmark.predictions import predictions_path
from spanwise.benchmark.results import Result, recorded_seeds
from spanwise.benchmark.runs import Run, find_results, plan
from spanwise.benchmark.suite import Suite
from spanwise.benchmark.table import get_path
from spanwise.corpora import CORPORA
from spanwise.errors import RecipeError
from spanwise.recipe import RECIPES

RESULTS = Path("benchmarks", "results")
MAX_SEEDS = 20
Shows = Literal[
    "scores", "labels", "widths", "nesting", "cost", "overlap", "classes", "plane", "attention",
    "attributes", "errors", "entity-length", "sentence-length", "statistics",
]  # fmt: skip
HELD = {  # what a result must hold, besides scores
    "labels": "entities.labels",
    "widths": "widths",
    "nesting": "nesting",
    "cost": "parameters",
    "overlap": "representations",
    "classes": "representations",
    "plane": "representations",
    "attention": "attention",
}
FROM_PREDICTIONS = ("attributes", "errors", "entity-length", "sentence-length")


class Exhibit(BaseModel):
    """A table or figure of a paper: a suite with some of its variants, and what is shown of its results.

    `paper` holds the published values by row and column where they are not the suite's. `says` is what the paper finds
    where it prints no values. An exhibit with a `script` is about speed; its numbers are on a `page` of the docs.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    corpora: tuple[str, ...]
    suite: str | None = None
    variants: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # variants without which it does not count as recorded; default: all
    shows: Shows = "scores"
    seeds: int = 1
    chart: Literal["lines", "bars"] | None = None
    between: str = ""  # what separates the series from the category in a variant's name
    x_title: str = ""
    paper: Mapping[str, Mapping[str, int | float]] = {}
    paper_corpus: str | None = None  # whose figures of the suite are shown if the paper does not have our corpus
    says: str = ""
    script: str | None = None
    page: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Exhibit:
        sources = (self.suite is not None, self.script is not None, self.shows == "statistics")
        if sum(sources) != 1:
            raise ValueError(f"{self.title!r} needs a suite, a script or statistics, and one of them")
        return self

    def plan(self, corpus: str, seeds: int | None = None) -> list[Run]:
        """The runs behind it on a corpus; of a corpus in folds, those of the first fold."""
        if self.suite is None:
            return []
        folded = {named.name for named in CORPORA if named.folds and "train" not in named.splits}
        folds = 1 if corpus in folded else None
        return plan(self.suite, corpus, seeds or self.seeds, folds=folds, variants=self.variants)

    def holds(self, result: Result, folder: Path) -> bool:
        """Whether a result that is recorded in this folder has what the exhibit shows."""
        if self.shows in FROM_PREDICTIONS:
            return predictions_path(folder, result).is_file()
        return get_path(result, HELD.get(self.shows, "entities.micro")) is not None

    def found(self, corpus: str, results: Path = RESULTS) -> list[Result]:
        """The recorded results that it can show, of all seeds."""
        folder = results_folder(self.suite, results) if self.suite else results
        seeds = recorded_seeds(folder)
        runs = self.plan(corpus, seeds) if seeds else []
        return [result for result in find_results(runs, folder) if self.holds(result, folder)]


def results_folder(suite: str, results: Path = RESULTS) -> Path:
    """Where the runs of a suite are recorded; suites with runs in common share a folder."""
    return results / (Suite.load(suite).results or suite)


@cache
def exhibits() -> Mapping[str, Exhibit]:
    """All exhibits by name, such as lear-t2 for LEAR's Table 2 and dspert-f4 for DSpERT's Figure 4."""
    content = yaml.safe_load((RECIPES / "tables" / "papers.yaml").read_text(encoding="utf-8"))
    return {name: Exhibit.model_validate(entry) for name, entry in content.items()}


def find_exhibit(name: str) -> Exhibit:
    try:
        return exhibits()[name]
    except KeyError:
        raise RecipeError(f"unknown table or figure {name!r}; `spanwise benchmark --list` names all.") from None


def recorded_variants(exhibit: Exhibit, corpus: str, results: Path = RESULTS) -> tuple[int, int]:
    """How many of an exhibit's variants have a recorded result on a corpus, and how many it has."""
    done = {result["variant"] for result in exhibit.found(corpus, results)}
    return len(done), len({run.variant for run in exhibit.plan(corpus, 1)})


def is_recorded(exhibit: Exhibit, results: Path = RESULTS) -> bool:
    """Whether the exhibit can be shown: statistics, a page, or the variants that it needs on one corpus."""
    if exhibit.suite is None:
        return True
    needed = set(exhibit.needs or exhibit.variants or Suite.load(exhibit.suite).variants)
    return any(needed <= {result["variant"] for result in exhibit.found(corpus, results)} for corpus in exhibit.corpora)
