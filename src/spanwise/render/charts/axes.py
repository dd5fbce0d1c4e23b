"""Scales from values to places, with ticks at round numbers, and the frame of a chart with its axes and its legend."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from spanwise.render.charts.colors import LIGHT, series_index
from spanwise.render.charts.svg import SIZE, bounds, finite, line, text, text_width
from spanwise.render.elements import Series

PLOT_HEIGHT = 200
TOP, BOTTOM = 12, 26  # above the plot, and for labels of one line below it
KEY = 16  # the sample of color in a legend
_ROUND = (1, 2, 2.5, 5, 10)
_TICKS = 5
AXIS = ("axis", LIGHT.quiet)


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` on the pixels from `start` to `end`, with ticks at round numbers."""

    low: float
    high: float
    start: float
    end: float
    step: float

    @classmethod
    def around(cls, values: Iterable[float], start: float, end: float, *, zero: bool = False) -> Scale:
        """The scale of round numbers that holds all values, and zero where the lengths of bars show them."""
        found = [*values, *([0.0] if zero else [])] or [0.0, 1.0]
        low, high = min(found), max(found)
        if high - low < 1e-9:
            margin = max(1.0, abs(high) * 0.05)
            low, high = (low, high + margin) if zero else (low - margin, high + margin)
        step = _step((high - low) / _TICKS)
        return cls(math.floor(low / step) * step, math.ceil(high / step - 1e-9) * step, start, end, step)

    def place(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        first, last = round(self.low / self.step), round(self.high / self.step)
        return [number * self.step for number in range(first, last + 1)]

    def label(self, value: float) -> str:
        """A tick in words, with as many decimals as the distance of the ticks has."""
        if max(abs(self.low), abs(self.high)) >= 1e6 or self.step < 1e-4:
            return f"{value:.3g}"
        decimals = next(d for d in range(8) if math.isclose(round(self.step, d), self.step, rel_tol=1e-6))
        return f"{value + 0.0:.{decimals}f}"


@dataclass(frozen=True, slots=True)
class Plot:
    """The area between the axes."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


def y_margin(scale_labels: Sequence[str], y_title: str) -> float:
    """The room at the left for the labels of ticks and for the title of the axis."""
    return max(map(text_width, scale_labels), default=0) + (SIZE + 18 if y_title else 12)


def y_axis(scale: Scale, plot: Plot, title: str) -> Iterator[str]:
    for tick in scale.ticks:
        y = scale.place(tick)
        yield line(plot.left, y, plot.right, y, "grid", LIGHT.grid)
        yield text(plot.left - 6, y + SIZE / 3, scale.label(tick), anchor="end", kind="quiet")
    if title:
        height = plot.bottom - plot.top
        x, y = SIZE + 2, (plot.top + plot.bottom) / 2
        yield text(x, y, title, anchor="middle", room=height, kind="quiet", turn=-90)


def x_axis(scale: Scale, plot: Plot, title: str, *, grid: bool = False) -> Iterator[str]:
    """An axis of numbers."""
    for tick in scale.ticks:
        x = scale.place(tick)
        yield line(x, plot.top if grid else plot.bottom, x, plot.bottom + 4, *(("grid", LIGHT.grid) if grid else AXIS))
        yield text(x, plot.bottom + SIZE + 6, scale.label(tick), anchor="middle", kind="quiet")
    yield from x_title(title, plot, BOTTOM)


def x_title(title: str, plot: Plot, below: float) -> Iterator[str]:
    if title:
        width = plot.right - plot.left
        yield text(plot.middle, plot.bottom + below + SIZE, title, anchor="middle", room=width, kind="quiet")


@dataclass(frozen=True, slots=True)
class Legend:
    """Names in rows above a chart, each with a sample of its color."""

    names: tuple[str, ...]
    width: float

    @property
    def rows(self) -> list[list[int]]:
        """The entries of each row: as many as fit."""
        rows: list[list[int]] = [[]]
        used = 0.0
        for index in range(len(self.names)):
            wanted = self._entry(index)
            if rows[-1] and used + wanted > self.width:
                rows.append([])
                used = 0.0
            rows[-1].append(index)
            used += wanted
        return rows if self.names else []

    @property
    def height(self) -> float:
        return len(self.rows) * (SIZE + 8) + (6 if self.names else 0)

    def draw(self, left: float, top: float, samples: Sequence[str]) -> Iterator[str]:
        """The entries; `samples` draw each color around the origin."""
        for number, row in enumerate(self.rows):
            x, y = left, top + number * (SIZE + 8) + SIZE
            for index in row:
                yield f'<g transform="translate({x + KEY / 2:g} {y - SIZE / 3:g})">{samples[index]}</g>'
                yield text(x + KEY + 4, y, self.names[index], room=self._room(index))
                x += self._entry(index)

    def _room(self, index: int) -> float:
        return min(text_width(self.names[index][:200]), 200, self.width - KEY - 20)

    def _entry(self, index: int) -> float:
        return KEY + 4 + self._room(index) + 14


def numbers(series: Iterable[Series]) -> list[float]:
    """All values of the series that can be drawn, with the ends of their intervals."""
    values = [value for one in series for value in one.values]
    found = (finite(value) for value in values)
    return [*(value for value in found if value is not None), *(end for value in values for end in bounds(value) or ())]


def color_of(index: int) -> tuple[str, str]:
    """The class and the color of what a series fills."""
    return f"s{series_index(index)}", LIGHT.series[series_index(index)]


def stroke_of(index: int) -> tuple[str, str]:
    """The class and the color of what a series draws as lines."""
    return f"t{series_index(index)}", LIGHT.series[series_index(index)]


def described(kind: str, facts: Iterable[str], most: int = 600) -> str:
    """The description of a chart for readers who cannot see it, of bounded length."""
    words = f"{kind}. " + "; ".join(facts)
    return words if len(words) <= most else words[: most - 1] + "…"


def _step(size: float) -> float:
    """The smallest round number that is not below the size."""
    power = 10.0 ** math.floor(math.log10(size))
    return next(factor * power for factor in _ROUND if factor * power >= size * (1 - 1e-9))
