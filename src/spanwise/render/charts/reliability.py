"""A reliability diagram: the share of correct predictions over their score, and the number of predictions below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spanwise.plural import counted
from spanwise.render.charts.axes import AXIS, BOTTOM, TOP, Legend, Plot, Scale, color_of, described, x_axis, y_axis
from spanwise.render.charts.svg import SIZE, box, finite, line, picture, text
from spanwise.render.elements import Reliability, ReliabilityBin

SIDE, STRIP = 250, 50  # the square of the diagram, and the height of the counts below it
_LEFT = 52


def draw_reliability(chart: Reliability) -> str:
    legend = Legend(("correct", "gap to the score"), SIDE)
    plot = Plot(_LEFT, TOP + legend.height, _LEFT + SIDE, TOP + legend.height + SIDE)
    strip = Plot(plot.left, plot.bottom + 20, plot.right, plot.bottom + 20 + STRIP)
    x_scale, y_scale = Scale(0, 1, plot.left, plot.right, 0.2), Scale(0, 1, plot.bottom, plot.top, 0.2)
    bins = [one for one in chart.bins if one.count and None not in map(finite, (one.confidence, one.accuracy))]
    parts = [
        *y_axis(y_scale, plot, "share correct"),
        *legend.draw(
            plot.left, 4, [box(-6, -6, 12, 12, *color_of(0)), box(-6, -6, 12, 12, *color_of(1), opacity=0.45)]
        ),
        *(part for one in bins for part in _bin(one, x_scale, y_scale)),
        line(plot.left, plot.bottom, plot.right, plot.top, "whisker", "#1d1f23", width=1.2, dash="5 4"),
        *_counts(bins, x_scale, strip),
        *x_axis(x_scale, strip, "score of the prediction"),
    ]
    return picture(chart.title, _description(bins), plot.right + 20, strip.bottom + BOTTOM + SIZE + 10, parts)


def _bin(one: ReliabilityBin, x_scale: Scale, y_scale: Scale) -> Iterator[str]:
    """A bar as high as the share that is correct, and the gap between it and the mean score."""
    left, right = x_scale.place(one.low), x_scale.place(one.high)
    correct, expected = y_scale.place(one.accuracy), y_scale.place(one.confidence)
    yield box(left + 1, correct, right - left - 2, y_scale.start - correct, *color_of(0), title=_said(one))
    top, height = min(correct, expected), abs(correct - expected)
    yield box(left + 1, top, right - left - 2, height, *color_of(1), opacity=0.45, title=_said(one))


def _counts(bins: Sequence[ReliabilityBin], x_scale: Scale, strip: Plot) -> Iterator[str]:
    most = max((one.count for one in bins), default=1)
    yield text(strip.left - 6, strip.top + SIZE, f"{most:,}", anchor="end", kind="quiet", size=10)
    yield text(strip.left - 6, strip.bottom, "0", anchor="end", kind="quiet", size=10)
    for one in bins:
        left, right = x_scale.place(one.low), x_scale.place(one.high)
        height = (strip.bottom - strip.top) * one.count / most
        yield box(left + 1, strip.bottom - height, right - left - 2, height, "quiet", "#5c6068", title=_said(one))
    yield line(strip.left, strip.bottom, strip.right, strip.bottom, *AXIS)


def _said(one: ReliabilityBin) -> str:
    return (
        f"score {one.low:.2f} to {one.high:.2f}: {counted(one.count, 'prediction')}, "
        f"mean score {one.confidence:.3f}, correct {one.accuracy:.3f}"
    )


def _description(bins: Sequence[ReliabilityBin]) -> str:
    return described("Reliability diagram", map(_said, bins))
