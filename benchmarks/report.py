"""Write the tables and figures of docs/results.md from the results in the repository.

    python benchmarks/report.py

The text between `<!-- SUITE CORPUS -->` and `<!-- end -->` is replaced by the table of that suite on that corpus, with
the command that made it, its comparisons, dates and machine, all read from benchmarks/results/SUITE/results.jsonl.
`<!-- SUITE CORPUS --best -->` adds rows for the best runs. With `--by width` or `--by nesting` instead of `--best`, F1
is grouped by the width or nesting of entities. `<!-- exhibit NAME CORPUS -->` is a table or figure of a paper, as
`spanwise benchmark NAME --corpus CORPUS --recorded` shows it; figures are written to docs/figures.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import takewhile
from pathlib import Path
from typing import Any

from spanwise.benchmark import Comparison, compare, exhibits, find_results, markdown, plan, results_folder, summarize
from spanwise.benchmark.exhibits import show
from spanwise.corpora import CORPORA
from spanwise.render.charts import to_svg
from spanwise.render.elements import Table
from spanwise.render.tables import to_markdown

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results.md"
SEEDS = 20  # maximum
RESULTS = Path("benchmarks", "results")
FOLDS = {named.name: len(named.folds) for named in CORPORA if named.folds}
BLOCK = re.compile(
    r"(?P<mark><!-- (?P<suite>(?!exhibit )\S+) (?P<corpus>\S+)(?: (?P<best>--best)| --by (?P<by>\S+))? -->\n)"
    r".*?<!-- end -->",
    re.DOTALL,
)
EXHIBIT = re.compile(r"(?P<mark><!-- exhibit (?P<name>\S+) (?P<corpus>\S+) -->\n).*?<!-- end -->", re.DOTALL)
Result = dict[str, Any]


def block(marks: re.Match[str]) -> str:
    """A table with the marks around it."""
    suite, corpus, best, by = marks["suite"], marks["corpus"], bool(marks["best"]), marks["by"]
    folder = results_folder(suite, RESULTS)
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
        f"`spanwise benchmark {suite} --corpus {corpus}{folds} --seeds {seeds} --jobs 2`"
        f"{': ' * bool(table.spread)}{table.spread}\n\n"
        f"{markdown(table.header, table.body)}\n"
        f"{comparisons(compare(suite, results))}"
        f"{circumstances(results)}\n"
        "<!-- end -->"
    )


def exhibit_block(marks: re.Match[str]) -> str:
    """A table or figure of a paper with its command; figures become files beside the page."""
    name, corpus = marks["name"], marks["corpus"]
    exhibit = exhibits()[name]
    folder = results_folder(exhibit.suite, ROOT / RESULTS) if exhibit.suite else ROOT / RESULTS
    results = exhibit.found(corpus, ROOT / RESULTS)
    if exhibit.suite and not results:
        return f"{marks['mark']}Not run yet.\n<!-- end -->"
    given = f" --corpus {corpus}" if exhibit.suite else ""
    parts, figures = [f"`spanwise benchmark {name}{given}`\n"], 0
    for element in show(exhibit, corpus, results, folder):
        if isinstance(element, Table):
            parts.append(to_markdown(element))
        else:
            figures += 1
            path = Path("figures", f"{name}-{corpus}-{figures}.svg")
            (PAGE.parent / path).parent.mkdir(exist_ok=True)
            (PAGE.parent / path).write_text(to_svg(element), encoding="utf-8")
            parts.append(f"![{element.title}]({path.as_posix()})\n")
    return f"{marks['mark']}{chr(10).join([*parts, *([circumstances(results)] if results else [])])}\n<!-- end -->"


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
    page = BLOCK.sub(block, PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(EXHIBIT.sub(exhibit_block, page), encoding="utf-8")


if __name__ == "__main__":
    main()
