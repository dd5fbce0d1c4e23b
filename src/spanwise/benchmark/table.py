"""The table of a suite: mean and standard deviation per variant, next to the paper's figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from spanwise.benchmark.results import Result
from spanwise.benchmark.suite import Suite
from spanwise.errors import InputError
from spanwise.plural import counted
from spanwise.render import elements

ALL_RUNS = "mean of all runs"
GROUPS = {"width": "widths", "nesting": "nesting"}  # grouping of F1: its key in a result


@dataclass(frozen=True, slots=True)
class Row:
    """A variant's scores by column, in percent. Columns that are missing in its results are left out.

    `protocol` tells which runs count: all, with their standard deviation, or the best by the suite's `best_by` column.
    """

    variant: str
    protocol: str
    runs: int
    mean: Mapping[str, float]
    std: Mapping[str, float] | None
    paper: Mapping[str, float]

    @property
    def name(self) -> str:
        return self.variant if self.protocol == ALL_RUNS else f"{self.variant}, {self.protocol}"

    def cell(self, column: str) -> str:
        """Mean ± standard deviation (the paper's figure)."""
        score = f"{self.mean[column]:.2f}" if column in self.mean else "–"
        spread = f" ± {self.std[column]:.2f}" if self.std and column in self.std else ""
        return score + spread + (f" ({self.paper[column]:.2f})" if column in self.paper else "")


@dataclass(frozen=True, slots=True)
class Table:
    """One row per variant with results, and further rows for its best runs if requested."""

    title: str
    spread: str  # what mean and deviation are computed over; empty if only over seeds
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def header(self) -> list[str]:
        figures = {column for row in self.rows for column in row.paper}
        return ["model", "runs", *(f"{column} (paper)" if column in figures else column for column in self.columns)]

    @property
    def body(self) -> list[list[str]]:
        return [[row.name, str(row.runs), *map(row.cell, self.columns)] for row in self.rows]

    @property
    def transposed(self) -> list[list[str]]:
        """Header and body with one line per column, for tables with many columns and few rows."""
        return [list(line) for line in zip(self.header, *self.body, strict=True)]


def summarize(name: str, corpus: str, results: Sequence[Result], *, best: bool = False, by: str | None = None) -> Table:
    """The suite's table. The score of a seed is its mean over folds; with one seed, the deviation is over folds.

    With `best`, there are also rows for the best run and, with at least six seeds, the mean of the top five, because
    some papers report these. With `by`, a key of GROUPS, the columns are the F1 of its groups.
    """
    suite = Suite.load(name)
    if by is not None:
        check_groups(results, by)
        columns = _groups(results, GROUPS[by])
        suite = suite.model_copy(update={"columns": columns, "title": f"{suite.title}: F1 by {by}"})
    seeds, folds = ({result[key] for result in results} for key in ("seed", "corpus"))
    rows = []
    for variant in suite.variants:
        if found := [result for result in results if result["variant"] == variant]:
            samples = _grouped(found, "seed" if len(seeds) > 1 else "corpus")
            protocols = {ALL_RUNS: samples, **(_best(suite, found) if best else {})}
            rows += [_row(suite, variant, corpus, *protocol) for protocol in protocols.items()]
    return Table(
        f"{suite.title}, {corpus} {suite.split}", _spread(len(seeds), len(folds)), tuple(suite.columns), tuple(rows)
    )


def check_groups(results: Sequence[Result], by: str) -> None:
    """Refuse a grouping that recorded results do not hold: a table would leave their variants blank in silence."""
    lacking = [result for result in results if result.get(GROUPS[by]) is None]
    if lacking:
        runs = "; ".join(f"{result['variant']}, {result['corpus']}, seed {result['seed']}" for result in lacking)
        raise InputError(
            f"no scores by {by} are recorded for {counted(len(lacking), 'run')} ({runs}); leave out --by {by}, or give "
            f"another --out to run again."
        )


def get_path(result: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path in a result; None if there is none."""
    value: Any = result
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def to_element(table: Table) -> elements.Table:
    """The table for a page or a paper: cells as they are printed."""
    return elements.Table(table.title, tuple(table.header), tuple(map(tuple, table.body)), table.spread)


def markdown(header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A Markdown table, as in the documentation."""
    lines = [f"| {' | '.join(cells)} |\n" for cells in (header, *body)]
    return "".join([lines[0], f"|{'---|' * len(header)}\n", *lines[1:]])


def _groups(results: Sequence[Result], kind: str) -> dict[str, str]:
    """The path of each group's F1 by name; with a single test split, the name includes the number of gold entities."""
    fullest = sorted((result.get(kind) or {} for result in results), key=len, reverse=True)
    gold = {group: score["gold"] for found in fullest for group, score in found.items()}
    one = len({result["corpus"] for result in results}) == 1
    return {f"{group} ({gold[group]:,})" if one else group: f"{kind}.{group}.f1" for group in gold}


def _row(suite: Suite, variant: str, corpus: str, protocol: str, samples: Sequence[Sequence[Result]]) -> Row:
    """Mean and standard deviation over samples; each sample counts as the mean of its results."""
    results = [result for sample in samples for result in sample]
    held = {column: path for column, path in suite.columns.items() if len(_per_cent(results, path)) == len(results)}
    values = {column: [mean(_per_cent(sample, path)) for sample in samples] for column, path in held.items()}
    return Row(
        variant,
        protocol,
        len(results),
        {column: mean(scores) for column, scores in values.items()},
        {column: stdev(scores) for column, scores in values.items()} if len(samples) > 1 else None,
        suite.figures(variant, corpus),
    )


def _best(suite: Suite, results: Sequence[Result]) -> dict[str, list[list[Result]]]:
    """The protocols that select seeds, separately for each fold, and the runs that they select."""
    path = suite.columns[suite.best_by]
    folds = _grouped([result for result in results if get_path(result, path) is not None], "corpus")
    seeds = min(map(len, folds), default=0)
    numbers = {"best": 1 if seeds > 1 else 0, "mean of the top five": 5 if seeds > 5 else 0}
    ranked = [sorted(fold, key=lambda result: -get_path(result, path)) for fold in folds]
    named = f"{' of each fold' if len(folds) > 1 else ''} by {suite.best_by}"
    return {
        protocol + named: [[result for fold in ranked for result in fold[:number]]]
        for protocol, number in numbers.items()
        if number
    }


def _spread(seeds: int, folds: int) -> str:
    if folds < 2:
        return ""
    return f"mean of {folds} folds, ± over {seeds} seeds" if seeds > 1 else f"mean ± over {folds} folds, one seed"


def _per_cent(results: Sequence[Result], path: str) -> list[float]:
    return [100 * value for result in results if (value := get_path(result, path)) is not None]


def _grouped(results: Sequence[Result], key: str) -> list[list[Result]]:
    groups: dict[Any, list[Result]] = {}
    for result in results:
        groups.setdefault(result[key], []).append(result)
    return list(groups.values())
