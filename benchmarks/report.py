"""Write the tables of docs/results.md from the results in the repository.

    python benchmarks/report.py

The text between `<!-- SUITE CORPUS -->` and `<!-- end -->` is replaced by the table of that suite on that corpus, with
the command that made it, its comparisons, dates and machine, all read from benchmarks/results/SUITE/results.jsonl.
`<!-- SUITE CORPUS --best -->` adds rows for the best runs. With `--by width` or `--by nesting` instead of `--best`, F1
is grouped by the width or nesting of entities.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import takewhile
from pathlib import Path
from typing import Any

from spanwise.benchmark import Comparison, compare, find_results, markdown, plan, summarize
from spanwise.corpora import CORPORA

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results.md"
SEEDS = 10  # maximum
FOLDS = {named.name: len(named.folds) for named in CORPORA if named.folds}
BLOCK = re.compile(
    r"(?P<mark><!-- (?P<suite>\S+) (?P<corpus>\S+)(?: (?P<best>--best)| --by (?P<by>\S+))? -->\n).*?<!-- end -->",
    re.DOTALL,
)
Result = dict[str, Any]


def block(marks: re.Match[str]) -> str:
    """A table with the marks around it."""
    suite, corpus, best, by = marks["suite"], marks["corpus"], bool(marks["best"]), marks["by"]
    folder = Path("benchmarks", "results", suite)
    # Only runs that the current version of the suite plans.
    results = find_results(plan(suite, corpus, SEEDS, folds=FOLDS.get(corpus)), ROOT / folder)
    if corpus in FOLDS:
        results = whole_seeds(results, corpus)
    if not results:
        return f"{marks['mark']}Not run yet.\n<!-- end -->"
    table = summarize(suite, corpus, results, best=best, by=by)
    folds = f" --folds {len({result['corpus'] for result in results})}" if corpus in FOLDS else ""
    seeds = max(result["seed"] for result in results)
    if by:
        header, *body = table.transposed
        return f"{marks['mark']}The same command with `--by {by}`:\n\n{markdown(header, body)}<!-- end -->"
    return (
        f"{marks['mark']}"
        f"`spanwise benchmark {suite} --corpus {corpus}{folds} --seeds {seeds} --jobs 2 --out {folder}`"
        f"{': ' * bool(table.spread)}{table.spread}\n\n"
        f"{markdown(table.header, table.body)}\n"
        f"{comparisons(compare(suite, results))}"
        f"{circumstances(results)}\n"
        "<!-- end -->"
    )


def whole_seeds(results: list[Result], corpus: str) -> list[Result]:
    """Results on the first folds that all variants completed with seed 1, for seeds that completed all these folds."""
    variants = {result["variant"] for result in results}
    done = Counter((result["seed"], result["corpus"]) for result in results)
    complete = {run for run, number in done.items() if number == len(variants)}
    names = (f"{corpus}/{fold}" for fold in range(FOLDS[corpus]))
    folds = list(takewhile(lambda fold: (1, fold) in complete, names))
    seeds = {seed for seed, _ in complete if all((seed, fold) in complete for fold in folds)}
    return [result for result in results if result["corpus"] in folds and result["seed"] in seeds]


def comparisons(compared: list[Comparison]) -> str:
    if not compared:
        return ""
    title = f"Two-sided p by paired approximate randomization over documents, {compared[0].trials:,} trials:"
    return f"{title}\n\n{markdown(Comparison.HEADER, [comparison.cells for comparison in compared])}\n"


def circumstances(results: list[Result]) -> str:
    """The dates, machine and training settings of the runs."""
    days = sorted({result["date"] for result in results})
    machine = results[-1]["environment"]
    trained = [result["recipe"]["train"] for result in results]
    epochs, batch, rate, task = (_all(trained, key) for key in ("epochs", "batch_size", "encoder_lr", "task_lr"))
    return (
        f"{' to '.join(dict.fromkeys((days[0], days[-1])))}; {machine['cores']} cores ({machine['machine']}), "
        f"one thread a run, torch {machine['torch']}; {epochs} epochs, batch {batch}, "
        f"learning rates {rate} (encoder) and {task}, {machine.get('precision', trained[-1]['precision'])}."
    )


def _all(sections: list[dict[str, Any]], key: str) -> str:
    """The values of an option in the runs, joined by "or" if they differ."""
    return " or ".join(f"{value:g}" for value in sorted({section[key] for section in sections}))


def main() -> None:
    PAGE.write_text(BLOCK.sub(block, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
