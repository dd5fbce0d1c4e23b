"""Elements of a report as data: tables, charts and marked sentences, before they become HTML, SVG or Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spanwise.document import Document

Value = str | int | float | None  # None is shown as a dash


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the ends of its confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells. A float is shown with `digits` decimals, an interval as `value [low, high]`."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Value | Interval, ...], ...]
    note: str = ""
    digits: int = 2


@dataclass(frozen=True, slots=True)
class Heatmap:
    """A grid of numbers as colors. With `diverging`, zero is neutral and the sign chooses the color."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    note: str = ""
    diverging: bool = False
    digits: int = 1
    row_title: str = ""
    column_title: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one system over the categories of a chart; None where it has none."""

    name: str
    values: tuple[float | Interval | None, ...]


@dataclass(frozen=True, slots=True)
class Bars:
    """Grouped bars, one group per category and one bar per series, with error bars where values are intervals."""

    title: str
    categories: tuple[str, ...]
    series: tuple[Series, ...]
    note: str = ""
    y_title: str = "F1"
    x_title: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """One line per series over numbers on the x axis, such as F1 over α."""

    title: str
    x: tuple[float, ...]
    series: tuple[Series, ...]
    note: str = ""
    y_title: str = "F1"
    x_title: str = ""


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Predictions with a score between `low` and `high`: how many, their mean score, and the share that is correct."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """A reliability diagram: accuracy over confidence, with the diagonal of a calibrated model."""

    title: str
    bins: tuple[ReliabilityBin, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points of the plane, one color per group."""

    title: str
    groups: Mapping[str, tuple[tuple[float, float], ...]]
    note: str = ""
    x_title: str = ""
    y_title: str = ""


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A sentence with marked spans under a heading, such as "gold" or the name of a system."""

    heading: str
    document: Document


@dataclass(frozen=True, slots=True)
class Example:
    """One case: what it is about, how often it occurs, and the texts that show it."""

    title: str
    texts: tuple[MarkedText, ...]
    count: int = 1


@dataclass(frozen=True, slots=True)
class Examples:
    """Cases with their sentences."""

    title: str
    examples: tuple[Example, ...]
    note: str = ""


Chart = Heatmap | Bars | Lines | Reliability | Scatter
Element = Table | Chart | Examples


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its elements. `key` names it in addresses and in file names."""

    key: str
    title: str
    elements: tuple[Element, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A page of sections, with facts such as the number of documents under its title."""

    title: str
    sections: tuple[Section, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
