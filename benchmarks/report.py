"""Write the tables of docs/results.md from the results that stand in the repository.

    python benchmarks/report.py

Between `<!-- SUITE CORPUS -->` and `<!-- end -->` stands the table of that suite on that corpus, with the command that
made it, dates and machine, all read from benchmarks/results/SUITE/results.jsonl.
"""

from __future__ import annotations

import re
from pathlib import Path

from spanwise.benchmark import markdown, plan, recorded, summarize

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results.md"
SEEDS = 10  # at most
BLOCK = re.compile(r"<!-- (?P<suite>\S+) (?P<corpus>\S+) -->\n.*?<!-- end -->", re.DOTALL)


def table(block: re.Match[str]) -> str:
    suite, corpus = block["suite"], block["corpus"]
    folder = Path("benchmarks", "results", suite)
    found = recorded(ROOT / folder)
    results = [found[run.key] for run in plan(suite, corpus, SEEDS) if run.key in found]  # of the suite as it is
    if not results:
        return f"<!-- {suite} {corpus} -->\nNot run yet.\n<!-- end -->"
    seeds = max(result["seed"] for result in results)
    days = sorted({result["date"] for result in results})
    machine = results[-1]["environment"]
    recipe = results[-1]["recipe"]["train"]
    return (
        f"<!-- {suite} {corpus} -->\n"
        f"`spanwise benchmark {suite} --corpus {corpus} --seeds {seeds} --jobs 2 --out {folder}`\n\n"
        f"{markdown(summarize(suite, corpus, results))}\n"
        f"{' to '.join(dict.fromkeys((days[0], days[-1])))}; {machine['cores']} cores ({machine['machine']}), "
        f"one thread a run, torch {machine['torch']}; {recipe['epochs']} epochs, batch {recipe['batch_size']}, "
        f"encoder learning rate {recipe['encoder_lr']:g}, {machine.get('precision', recipe['precision'])}.\n"
        "<!-- end -->"
    )


def main() -> None:
    PAGE.write_text(BLOCK.sub(table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
