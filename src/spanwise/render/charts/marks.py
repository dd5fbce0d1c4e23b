"""Points of a series, each series in a color and a shape of its own, as one path."""

from __future__ import annotations

from collections.abc import Iterable

from spanwise.render.charts.axes import color_of
from spanwise.render.charts.svg import at, clean
from spanwise.render.markup import escaped

# around the point that the path has moved to, in pixels
_SHAPES = (
    "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",  # circle
    "m-3 -3h6v6h-6z",  # square
    "m0 -4.4l4 7.4h-8z",  # triangle
    "m0 -4.6l4.2 4.6l-4.2 4.6l-4.2 -4.6z",  # diamond
    "m-1.4 -4.2h2.8v2.8h2.8v2.8h-2.8v2.8h-2.8v-2.8h-2.8v-2.8h2.8z",  # plus
    "m0 4.4l4 -7.4h-8z",  # triangle upside down
    "m-4.2 -1.6h8.4v3.2h-8.4z",  # bar
)


def marks(index: int, points: Iterable[tuple[float, float]], title: str = "", opacity: float = 1) -> str:
    """The points in the color and the shape of this series, with a title that appears under the pointer."""
    kind, color = color_of(index)
    shape = _SHAPES[index % len(_SHAPES)]
    path = "".join(f"M{at(x)} {at(y)}{shape}" for x, y in points)
    clear = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
    head = f'<path class="{kind}" d="{path}" fill="{color}"{clear}'
    return f"{head}><title>{escaped(clean(title))}</title></path>" if title else f"{head}/>"
