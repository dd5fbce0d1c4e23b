"""Cells of the report's tables and charts: scores in percent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from spanwise.analysis.bootstrap import Estimate, Macro
from spanwise.analysis.results import Analysis, Breakdown, SystemAnalysis
from spanwise.render.elements import Bars, Interval, Series, Table, Value

Cell = Value | Interval
SCORE_HEADER = ("precision", "recall", "F1", "gold", "predicted", "correct")


def percent(interval: Interval) -> Interval:
    return Interval(100 * interval.value, 100 * interval.low, 100 * interval.high)


def score_cells(score: Estimate | Macro) -> tuple[Cell, ...]:
    """Precision, recall and F1 with intervals, then the counts; a macro average has none."""
    fractions = (percent(score.precision), percent(score.recall), percent(score.f1))
    if isinstance(score, Macro):
        return (*fractions, None, None, None)
    return (*fractions, score.gold, score.predicted, score.correct)


def several(analysis: Analysis) -> bool:
    return len(analysis.systems) > 1


def system_rows(
    analysis: Analysis, rows: Callable[[SystemAnalysis], Iterable[tuple[Cell, ...]]]
) -> tuple[tuple[Cell, ...], ...]:
    """The rows of all systems, with the name of the system in front if there are several."""
    return tuple(
        (name, *row) if several(analysis) else row for name, one in analysis.systems.items() for row in rows(one)
    )


def system_header(analysis: Analysis, *header: str) -> tuple[str, ...]:
    return ("system", *header) if several(analysis) else header


def breakdown_bars(title: str, breakdowns: Mapping[str, Breakdown], note: str = "") -> Bars:
    """F1 of every system over the groups of an attribute; groups without entities are left out."""
    first = next(iter(breakdowns.values()))
    names = [name for name in first.groups if any(has_items(one.groups[name]) for one in breakdowns.values())]
    series = tuple(
        Series(system, tuple(f1_or_none(one.groups[name]) for name in names)) for system, one in breakdowns.items()
    )
    return Bars(title, tuple(names), series, note, x_title=first.title)


def breakdown_table(analysis: Analysis, title: str, breakdowns: Mapping[str, Breakdown], note: str = "") -> Table:
    """All scores of every system by the groups of an attribute."""
    first = next(iter(breakdowns.values()))
    rows = system_rows(
        analysis,
        lambda one: (
            (name, *score_cells(score)) for name, score in breakdowns[one.name].groups.items() if has_items(score)
        ),
    )
    return Table(title, system_header(analysis, first.title, *SCORE_HEADER), rows, note)


def has_items(score: Estimate) -> bool:
    return bool(score.gold or score.predicted)


def f1_or_none(score: Estimate) -> Interval | None:
    return percent(score.f1) if has_items(score) else None


def joined(names: Sequence[str]) -> str:
    return ", ".join(names)
