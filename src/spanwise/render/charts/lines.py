"""Lines over numbers, with a shape of their own for the points of each series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spanwise.render.charts.axes import (
    BOTTOM,
    PLOT_HEIGHT,
    TOP,
    Legend,
    Plot,
    Scale,
    described,
    numbers,
    stroke_of,
    x_axis,
    y_axis,
    y_margin,
)  # fmt: skip
from spanwise.render.charts.marks import marks
from spanwise.render.charts.svg import SIZE, at, bounds, clean, figure, finite, fitted, line, picture
from spanwise.render.elements import Interval, Lines, Series

WIDTH = 270  # of the plot
_DASHES = ("none", "6 3", "2 3", "8 3 2 3")


def draw_lines(chart: Lines) -> str:
    known = [x for x in chart.x if finite(x) is not None]
    y_scale = Scale.around(numbers(chart.series), 0, 0)
    left = y_margin([y_scale.label(tick) for tick in y_scale.ticks], chart.y_title)
    legend = Legend(tuple(one.name for one in chart.series) if len(chart.series) > 1 else (), WIDTH)
    plot = Plot(left, TOP + legend.height, left + WIDTH, TOP + legend.height + PLOT_HEIGHT)
    y_scale = Scale(y_scale.low, y_scale.high, plot.bottom, plot.top, y_scale.step)
    x_scale = Scale.around(known, plot.left + 8, plot.right - 8)
    parts = [
        *y_axis(y_scale, plot, chart.y_title),
        *x_axis(x_scale, plot, chart.x_title),
        *legend.draw(left, 4, [_sample(index) for index in range(len(legend.names))]),
        *(part for index, one in enumerate(chart.series) for part in _series(index, one, chart.x, x_scale, y_scale)),
    ]
    height = plot.bottom + BOTTOM + (SIZE + 10 if chart.x_title else 4)
    return picture(chart.title, _description(chart), plot.right + 20, height, parts)


def _series(index: int, series: Series, xs: Sequence[float], x_scale: Scale, y_scale: Scale) -> Iterator[str]:
    """The line with a gap where a value is missing, the error bars, and the points with their values as titles."""
    path, points, previous = "", [], False
    for x, value in zip(xs, series.values, strict=False):
        number = finite(value)
        known = number is not None and finite(x) is not None
        if number is not None and known:
            place = x_scale.place(x), y_scale.place(number)
            path += f"{'L' if previous else 'M'}{at(place[0])} {at(place[1])}"
            points.append(marks(index, [place], _said(series, x, value)))
            if ends := bounds(value):
                yield line(place[0], y_scale.place(ends[0]), place[0], y_scale.place(ends[1]), *stroke_of(index))
        previous = known
    if path:
        kind, color = stroke_of(index)
        drawn = f'stroke="{color}" stroke-width="2" stroke-linejoin="round" stroke-dasharray="{_dash(index)}"'
        yield f'<path class="{kind}" d="{path}" fill="none" {drawn}/>'
    yield from points


def _dash(index: int) -> str:
    return _DASHES[index % len(_DASHES)]


def _said(series: Series, x: float, value: float | Interval | None) -> str:
    return f"{fitted(series.name, 400)}, {x:g}: {figure(value)}"


def _sample(index: int) -> str:
    return line(-8, 0, 8, 0, *stroke_of(index), width=2, dash=_dash(index)) + marks(index, [(0, 0)])


def _description(chart: Lines) -> str:
    pairs = [(one, x, value) for one in chart.series for x, value in zip(chart.x, one.values, strict=False)]
    kind = f"Lines of {clean(chart.y_title)}" + (f" over {clean(chart.x_title)}" if chart.x_title else "")
    return described(kind, (_said(one, x, value) for one, x, value in pairs if finite(x) is not None))
