"""Write the tables of docs/choosing.md and of docs/models from the results in the repository.

    python benchmarks/choosing.py

The text between `<!-- choose CORPUS -->` and `<!-- end -->` is replaced by a row per model: its scores on test and the
time of an epoch. `<!-- measured MODEL -->` is a row per corpus that the model was trained on. The runs are those of
docs/results.md, in benchmarks/results; only runs that the current version of a suite plans are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from spanwise.benchmark import find_results, plan, results_folder
from spanwise.benchmark.results import read_results

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGES = (ROOT / "docs" / "choosing.md", *sorted((ROOT / "docs" / "models").glob("*.md")))
SEEDS = 20  # maximum
SYSTEMS = {  # model: the suites that compare it, and its name there
    "seq-ner": {"bl-ner": "SeqNER"},
    "span-ner": {"bl-ner": "SpanNER", "deep-spans": "SpanNER"},
    "traditional": {"lear": "LEAR w/o"},
    "lear": {"lear": "LEAR"},
    "qa": {"lear": "QA"},
    "biaffine": {"dspert": "biaffine"},
    "dspert": {"dspert": "DSpERT", "deep-spans": "DSpERT"},
    "spert": {"joint": "SpERT"},
    "span": {"joint": "SPAN"},
    "stsn": {"joint": "STSN"},
}
_BLOCK = re.compile(r"<!-- (?P<kind>choose|measured) (?P<name>\S+) -->\n.*?<!-- end -->", re.DOTALL)
Result = dict[str, Any]


@dataclass(frozen=True)
class Measured:
    """The runs of a model on a corpus in one suite."""

    model: str
    suite: str
    corpus: str
    results: tuple[Result, ...]

    def score(self, *path: str) -> str:
        """Mean and standard deviation of a score in percent, or nothing if it was not measured."""
        values = []
        for result in self.results:
            value: Any = result
            for name in path:
                value = (value or {}).get(name)
            if value is None:
                return ""
            values.append(100 * value)
        spread = f" ± {stdev(values):.2f}" if len(values) > 1 else ""
        return f"{mean(values):.2f}{spread}"

    @property
    def cells(self) -> list[str]:
        """Runs, entity F1, RE+ F1, epochs, and the seconds of an epoch in the fastest run with its precision."""
        train = [result["recipe"]["train"] for result in self.results]
        fastest, precision = min((_epoch_seconds(result), _precision(result)) for result in self.results)
        entities, relations = self.score("entities", "micro", "f1"), self.score("relations", "strict", "micro", "f1")
        epochs = " or ".join(sorted({str(each["epochs"]) for each in train}, key=int))
        return [str(len(self.results)), entities, relations, epochs, f"{fastest:.0f} ({precision})"]


def _epoch_seconds(result: Result) -> float:
    return float(result["seconds"] / result["recipe"]["train"]["epochs"])


def _precision(result: Result) -> str:
    return str(result["environment"].get("precision", result["recipe"]["train"]["precision"]))


@cache
def planned(suite: str, corpus: str) -> list[Result]:
    return find_results(plan(suite, corpus, SEEDS), results_folder(suite, RESULTS))


@cache
def corpora_of(suite: str) -> list[str]:
    return list(dict.fromkeys(result["corpus"] for result in read_results(results_folder(suite, RESULTS))))


def measured(model: str, corpus: str | None = None) -> Iterator[Measured]:
    """What is recorded of a model, on one corpus or on all; of two suites on one corpus, the one with more runs."""
    best: dict[str, Measured] = {}
    for suite, variant in SYSTEMS[model].items():
        for name in corpora_of(suite) if corpus is None else [corpus]:
            results = tuple(result for result in planned(suite, name) if result["variant"] == variant)
            if results and (name not in best or len(results) > len(best[name].results)):
                best[name] = Measured(model, suite, name, results)
    yield from best.values()


def table(header: str, rows: list[list[str]]) -> str:
    """A table without the columns that no row fills."""
    columns = header.split(" | ")
    kept = [index for index in range(len(columns)) if any(row[index] for row in rows)]
    head, *body = ("| " + " | ".join(line[index] for index in kept) + " |\n" for line in [columns, *rows])
    return "".join([head, "|---" * len(kept) + "|\n", *body])


def choose(corpus: str) -> str:
    rows = [
        [f"[`{model}`](models/{model}.md)", *found.cells, f"`{found.suite}`"]
        for model in SYSTEMS
        for found in measured(model, corpus)
    ]
    return table("model | runs | entity F1 | RE+ F1 | epochs | seconds per epoch | suite", rows)


def scores(model: str) -> str:
    rows = [[f"`{found.corpus}`", *found.cells, f"`{found.suite}`"] for found in measured(model)]
    return table("corpus | runs | entity F1 | RE+ F1 | epochs | seconds per epoch | suite", rows)


def updated(page: str) -> str:
    """A page with its tables written anew."""

    def block(match: re.Match[str]) -> str:
        write = choose if match["kind"] == "choose" else scores
        return f"<!-- {match['kind']} {match['name']} -->\n{write(match['name'])}<!-- end -->"

    return _BLOCK.sub(block, page)


def main() -> None:
    for path in PAGES:
        path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
