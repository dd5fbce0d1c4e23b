"""Charts as SVG: each a file of its own that any viewer shows, and that a page can contain and color by its mode."""

from __future__ import annotations

from spanwise.render.charts.bars import draw_bars
from spanwise.render.charts.colors import chart_rules
from spanwise.render.charts.heatmap import draw_heatmap
from spanwise.render.charts.lines import draw_lines
from spanwise.render.charts.reliability import draw_reliability
from spanwise.render.charts.scatter import draw_scatter
from spanwise.render.elements import Bars, Chart, Heatmap, Lines, Reliability

__all__ = ["chart_rules", "to_svg"]


def to_svg(chart: Chart) -> str:
    """The chart as SVG: the same text each time, with a title and a description for readers who cannot see it."""
    if isinstance(chart, Heatmap):
        return draw_heatmap(chart)
    if isinstance(chart, Bars):
        return draw_bars(chart)
    if isinstance(chart, Lines):
        return draw_lines(chart)
    return draw_reliability(chart) if isinstance(chart, Reliability) else draw_scatter(chart)
