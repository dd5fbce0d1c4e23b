"""Write the table of docs/findings.md: every claim of the papers beside the recorded runs.

    python benchmarks/findings.py

A claim says that one variant of a suite is better than another. Ours is the difference of micro F1 on the same
documents, summed over the seeds that both have, with its 95 % interval by bootstrap over documents. Runs recorded
without counts per document have the mean difference over seeds, and from three seeds on its t-interval. A claim holds
if the interval is above 0, does not hold if it is below 0, and is open otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev

import yaml
from pydantic import BaseModel, ConfigDict

from spanwise.benchmark import Suite, compare_variants, find_results, get_path, plan, results_folder
from spanwise.benchmark.results import Result
from spanwise.render.elements import Table
from spanwise.render.tables import to_markdown

ROOT = Path(__file__).resolve().parent.parent
PAGE, CLAIMS = ROOT / "docs" / "findings.md", ROOT / "benchmarks" / "claims.yaml"
RESULTS = ROOT / "benchmarks" / "results"
SEEDS = 20  # maximum
T = {3: 4.303, 4: 3.182, 5: 2.776}  # 97.5 % quantiles of Student's t by number of seeds
BLOCK = re.compile(r"(<!-- claims (?P<paper>\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
HEADER = ("claim", "paper", "corpus", "ours (95 % interval)", "runs", "verdict", "command")


class Claim(BaseModel):
    """What a paper says, and the two variants that show it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    claim: str
    paper: float | str
    paper_corpus: str = ""
    suite: str = ""
    corpora: tuple[str, ...] = ()
    more: str = ""
    less: str = ""
    column: str = "F1"
    ours: str = ""
    verdict: str = ""
    command: str = ""

    @property
    def published(self) -> str:
        number = f"{self.paper:+.2f}" if isinstance(self.paper, float) else str(self.paper)
        return f"{number} ({self.paper_corpus})" if self.paper_corpus else number


def rows(claim: Claim) -> Iterator[tuple[str, ...]]:
    """One row per corpus of a claim."""
    if not claim.suite:
        yield (claim.claim, claim.published, "", claim.ours, "", claim.verdict, claim.command)
        return
    for corpus in claim.corpora:
        runs = plan(claim.suite, corpus, SEEDS, variants=(claim.more, claim.less))
        results = find_results(runs, results_folder(claim.suite, RESULTS))
        found = compare_variants(Suite.load(claim.suite), claim.more, claim.less, claim.column, results)
        command = f"spanwise benchmark {claim.suite} --corpus {corpus}"
        if found is not None:
            ours = f"{found.difference:+.2f} ({found.low:+.2f} to {found.high:+.2f})"
            cells = (ours, str(found.runs), verdict(found.low, found.high))
        else:
            cells = over_seeds(claim, results)
        yield (claim.claim, claim.published, corpus, *cells, command)


def over_seeds(claim: Claim, results: Sequence[Result]) -> tuple[str, str, str]:
    """The mean difference over the seeds that both variants have, and its interval if there are enough."""
    path = Suite.load(claim.suite).columns[claim.column]
    more, less = (
        {result["seed"]: 100 * get_path(result, path) for result in results if result["variant"] == variant}
        for variant in (claim.more, claim.less)
    )
    differences = [more[seed] - less[seed] for seed in more if seed in less]
    if not differences:
        return "not recorded", "0", "open"
    if len(differences) not in T:
        return f"{mean(differences):+.2f} (no interval)", str(len(differences)), "open"
    half = T[len(differences)] * stdev(differences) / len(differences) ** 0.5
    low, high = mean(differences) - half, mean(differences) + half
    ours = f"{mean(differences):+.2f} ({low:+.2f} to {high:+.2f}, over seeds)"
    return ours, str(len(differences)), verdict(low, high)


def verdict(low: float, high: float) -> str:
    """What the interval of a difference says about a claim that it is positive."""
    return "holds" if low > 0 else "does not hold" if high < 0 else "open"


def table(paper: str, claims: list[Claim]) -> str:
    return to_markdown(Table("", HEADER, tuple(row for claim in claims for row in rows(claim))))


def main() -> None:
    content = yaml.safe_load(CLAIMS.read_text(encoding="utf-8"))
    claims = {paper: [Claim.model_validate(entry) for entry in entries] for paper, entries in content.items()}
    page = PAGE.read_text(encoding="utf-8")
    page = BLOCK.sub(lambda marks: f"{marks[1]}{table(marks['paper'], claims[marks['paper']])}{marks[3]}", page)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
