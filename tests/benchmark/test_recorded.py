"""The results of this repository, found again by the recipes of today's plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spanwise import benchmark
from spanwise.benchmark.results import key
from spanwise.recipe import Recipe

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
FOUND = {  # lines of each suite by corpus; whoever changes a recipe or a suite on purpose changes these as well
    "bl-ner": {"bc5cdr": 4, "conll04": 15, "scierc": 5, "wnut17": 12},
    "deep-spans": {"conll04": 2, "resume": 2, "scierc": 2, "weibo": 2},
    "dspert": {"genia": 13},
    "dspert-depth": {"genia": 4},
    "joint": {"ade": 3, "conll04": 9, "scierc": 3},
    "lear": {"bc5cdr": 2, "conll04": 7, "geneva": 6, "genia": 2},
    "lear-shots": {"conll04": 20},
    "lear-variants": {"conll04": 6},
    "new-labels": {"conll04": 4},
    "span-attention": {"conll04": 6},
}
FOLDS = {"ade": 10}


@pytest.mark.parametrize("suite", FOUND)
def test_recorded_results_are_found_by_todays_plans(suite: str) -> None:
    found = {
        corpus: len(benchmark.find_results(benchmark.plan(suite, corpus, 10, folds=FOLDS.get(corpus)), RESULTS / suite))
        for corpus in FOUND[suite]
    }
    assert found == FOUND[suite]


def first_line(suite: str) -> dict[str, Any]:
    with (RESULTS / suite / "results.jsonl").open(encoding="utf-8") as file:
        line: dict[str, Any] = json.loads(file.readline())
    return line


@pytest.mark.parametrize("suite", FOUND)
def test_the_key_of_a_recorded_recipe_is_that_of_its_run(suite: str) -> None:
    line = first_line(suite)
    runs = benchmark.plan(suite, line["corpus"], line["seed"], variants=[line["variant"]])
    assert key(Recipe.parse(line["recipe"])) == runs[-1].key


def test_options_that_become_explicit_do_not_change_a_key() -> None:
    recipe = {"model": {"name": "seq-ner"}, "data": {"corpus": "demo"}}
    assert key(Recipe.parse(recipe)) == key(Recipe.parse(Recipe.parse(recipe).model_dump(mode="json")))
    assert key(Recipe.parse(recipe)) == key(Recipe.parse({**recipe, "evaluation": {"threshold": 0.0}}))
    assert key(Recipe.parse(recipe)) != key(Recipe.parse({**recipe, "evaluation": {"threshold": 0.5}}))
