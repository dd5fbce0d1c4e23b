"""Grouped bars with error bars."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spanwise.render.charts.axes import (
    AXIS,
    BOTTOM,
    PLOT_HEIGHT,
    TOP,
    Legend,
    Plot,
    Scale,
    color_of,
    described,
    numbers,
    x_title,
    y_axis,
    y_margin,
)  # fmt: skip
from spanwise.render.charts.colors import LIGHT
from spanwise.render.charts.svg import SIZE, bounds, box, clean, figure, finite, fitted, line, picture, text, text_width
from spanwise.render.elements import Bars, Interval

NARROWEST = 240  # of a plot
BROAD = 420  # of a plot with all its names side by side
LABEL = 130  # the most room of a category's name
_TURN = -40  # degrees of names that do not fit side by side
_TURNED = 0.7  # the room below the axis that a turned name takes, as a share of its length
_SMALL = 10.5


def draw_bars(chart: Bars) -> str:
    layout = _Layout.of(chart)
    parts = [
        *y_axis(layout.scale, layout.plot, chart.y_title),
        *layout.legend.draw(layout.plot.left, 4, [_sample(index) for index in range(len(layout.legend.names))]),
        *(part for place in range(len(chart.categories)) for part in _group(chart, layout, place)),
        line(layout.plot.left, layout.zero, layout.plot.right, layout.zero, *AXIS),
        *x_title(chart.x_title, layout.plot, layout.below),
    ]
    height = layout.plot.bottom + layout.below + (SIZE + 10 if chart.x_title else 4)
    return picture(chart.title, _description(chart), layout.plot.right + 12, height, parts)


@dataclass(frozen=True, slots=True)
class _Layout:
    plot: Plot
    scale: Scale
    legend: Legend
    pitch: float  # between the middles of two groups
    bar: float
    turned: bool
    below: float

    @classmethod
    def of(cls, chart: Bars) -> _Layout:
        many, groups = max(1, len(chart.series)), max(1, len(chart.categories))
        bar = 26.0 if many == 1 else max(9.0, 20 - many)
        widest = max((text_width(fitted(name, LABEL)) for name in chart.categories), default=0)
        pitch = max(many * bar + 16, NARROWEST / groups)
        turned = groups * (widest + 8) > max(groups * pitch, BROAD)
        pitch = max(pitch, 24 if turned else widest + 8)
        scale = Scale.around(numbers(chart.series), 0, 0, zero=True)
        left = max(
            y_margin([scale.label(tick) for tick in scale.ticks], chart.y_title),
            _overhang(chart, pitch) if turned else 0,
        )
        legend = Legend(tuple(one.name for one in chart.series) if many > 1 else (), groups * pitch)
        top = TOP + legend.height + (8 if many == 1 else 0)
        plot = Plot(left, top, left + groups * pitch, top + PLOT_HEIGHT)
        scale = Scale(scale.low, scale.high, plot.bottom, plot.top, scale.step)
        return cls(plot, scale, legend, pitch, bar, turned, BOTTOM + widest * _TURNED if turned else BOTTOM)

    @property
    def zero(self) -> float:
        return self.scale.place(0)

    def shown(self, number: float) -> str:
        return f"{number:.{1 if self.scale.high >= 10 else 2}f}"

    def middle(self, place: int) -> float:
        return self.plot.left + (place + 0.5) * self.pitch


def _overhang(chart: Bars, pitch: float) -> float:
    """How far the first turned names reach to the left of the plot."""
    reach = [
        0.78 * text_width(fitted(name, LABEL)) - (place + 0.5) * pitch for place, name in enumerate(chart.categories)
    ]
    return max(reach, default=0) + 4


def _group(chart: Bars, layout: _Layout, place: int) -> Iterator[str]:
    """The bars of one category, and its name."""
    middle = layout.middle(place)
    first = middle - len(chart.series) * layout.bar / 2
    for index, one in enumerate(chart.series):
        value = one.values[place] if place < len(one.values) else None
        title = ", ".join(filter(None, [fitted(chart.categories[place], 400), fitted(one.name, 400)]))
        yield from _bar(layout, index, first + index * layout.bar, value, title, valued=len(chart.series) == 1)
    y = layout.plot.bottom + SIZE + 6
    if layout.turned:
        yield text(middle + 4, y - 2, chart.categories[place], anchor="end", room=LABEL, turn=_TURN)
    else:
        yield text(middle, y, chart.categories[place], anchor="middle", room=max(LABEL, layout.pitch - 8))


def _bar(
    layout: _Layout, index: int, x: float, value: float | Interval | None, title: str, *, valued: bool
) -> Iterator[str]:
    number, ends = finite(value), bounds(value)
    if number is None:
        yield text(x + layout.bar / 2, layout.zero - 4, "–", anchor="middle", kind="quiet")
        return
    y, zero = layout.scale.place(number), layout.zero
    middle = x + layout.bar / 2
    yield box(x + 1, min(y, zero), layout.bar - 2, abs(zero - y), *color_of(index), title=f"{title}: {figure(value)}")
    top = y
    if ends:
        low, high = map(layout.scale.place, ends)
        top = min(y, high)
        yield _whisker(middle, low, high, min(4.0, layout.bar / 4))
    if valued:
        yield text(middle, min(top, zero) - 5, layout.shown(number), anchor="middle", size=_SMALL)


def _whisker(x: float, low: float, high: float, half: float) -> str:
    path = f"M{x:.1f} {low:.1f}V{high:.1f}M{x - half:.1f} {low:.1f}h{2 * half:g}M{x - half:.1f} {high:.1f}h{2 * half:g}"
    return f'<path class="whisker" d="{path}" fill="none" stroke="{LIGHT.ink}" stroke-width="1.2"/>'


def _sample(index: int) -> str:
    return box(-6, -6, 12, 12, *color_of(index))


def _description(chart: Bars) -> str:
    pairs = ((one, place) for one in chart.series for place in range(min(len(chart.categories), len(one.values))))
    facts = (f"{fitted(one.name, 300)}, {clean(chart.categories[p][:60])}: {figure(one.values[p])}" for one, p in pairs)
    return described(f"Bars of {chart.y_title}" + (f" by {chart.x_title}" if chart.x_title else ""), facts)
