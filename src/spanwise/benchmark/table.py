"""The table of a suite: mean and standard deviation per variant, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from spanwise.benchmark.suite import Suite


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
