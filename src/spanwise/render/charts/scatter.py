"""Points of the plane, one color and one shape per group."""

from __future__ import annotations

from spanwise.plural import counted
from spanwise.render.charts.axes import (
    BOTTOM,
    TOP,
    Legend,
    Plot,
    Scale,
    described,
    x_axis,
    y_axis,
    y_margin,
)  # fmt: skip
from spanwise.render.charts.marks import marks
from spanwise.render.charts.svg import SIZE, clean, finite, picture
from spanwise.render.elements import Scatter

WIDTH, HEIGHT = 300, 270
MOST_POINTS = 5000  # drawn; of more, every n-th


def draw_scatter(chart: Scatter) -> str:
    groups = {
        name: [(x, y) for x, y in points if None not in (finite(x), finite(y))] for name, points in chart.groups.items()
    }
    every = -(-sum(map(len, groups.values())) // MOST_POINTS) or 1
    drawn = {name: points[::every] for name, points in groups.items()}
    everything = [point for points in drawn.values() for point in points]
    y_scale = Scale.around((y for _, y in everything), 0, 0)
    left = y_margin([y_scale.label(tick) for tick in y_scale.ticks], chart.y_title)
    legend = Legend(tuple(drawn), WIDTH)
    plot = Plot(left, TOP + legend.height, left + WIDTH, TOP + legend.height + HEIGHT)
    y_scale = Scale(y_scale.low, y_scale.high, plot.bottom, plot.top, y_scale.step)
    x_scale = Scale.around((x for x, _ in everything), plot.left, plot.right)
    parts = [
        *y_axis(y_scale, plot, chart.y_title),
        *x_axis(x_scale, plot, chart.x_title, grid=True),
        *legend.draw(left, 4, [marks(index, [(0, 0)]) for index in range(len(drawn))]),
        *(
            marks(index, [(x_scale.place(x), y_scale.place(y)) for x, y in points], name, opacity=0.7)
            for index, (name, points) in enumerate(drawn.items())
            if points
        ),
    ]
    facts = (f"{clean(name[:60])}: {counted(len(points), 'point')}" for name, points in groups.items())
    kind = "Points" + (f", one of {every} drawn" if every > 1 else "")
    height = plot.bottom + BOTTOM + (SIZE + 10 if chart.x_title else 4)
    return picture(chart.title, described(kind, facts), plot.right + 20, height, parts)
