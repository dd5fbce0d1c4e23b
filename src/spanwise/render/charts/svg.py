"""Elements of SVG as strings: shapes with a color and a class, text that fits its room, and the picture around them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable

from spanwise.render.charts.colors import LIGHT
from spanwise.render.elements import Interval
from spanwise.render.markup import escaped

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif"
SIZE = 12  # of a letter, in pixels
DASH = "–"
_LARGEST = 1e12
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NARROW, _WIDE = frozenset("iljtfrI.,:;'|![]() "), frozenset("mwMW@%…—")


def clean(text: str) -> str:
    """Text for a label: on one line, and without characters that XML cannot contain."""
    return " ".join(_NOT_XML.sub("", text).split())


def text_width(text: str, size: float = SIZE) -> float:
    """An upper estimate of the width of a text: which font the viewer has is not known."""
    return size * sum(map(_letter_width, text))


def fitted(text: str, width: float, size: float = SIZE) -> str:
    """The text, or its beginning with an ellipsis where the whole is wider than this."""
    text = clean(text[:1000])
    if text_width(text, size) <= width:
        return text
    room, kept = width - text_width("…", size), 0
    while kept < len(text) and (room := room - size * _letter_width(text[kept])) >= 0:
        kept += 1
    return text[:kept].rstrip() + "…"


def finite(value: float | Interval | None) -> float | None:
    """The number itself, or None where there is none: a chart leaves NaN, infinity and the like out."""
    number = value.value if isinstance(value, Interval) else value
    return number if number is not None and abs(number) < _LARGEST else None


def bounds(value: float | Interval | None) -> tuple[float, float] | None:
    """The ends of an interval where all of it is finite."""
    if isinstance(value, Interval) and None not in map(finite, (value.low, value.value, value.high)):
        return value.low, value.high
    return None


def figure(value: float | Interval | None, digits: int = 2) -> str:
    """A value in words, with its interval."""
    number = finite(value)
    if number is None:
        return DASH
    ends = bounds(value)
    return f"{number:.{digits}f}" + (f" [{ends[0]:.{digits}f}, {ends[1]:.{digits}f}]" if ends else "")


def at(number: float) -> str:
    """A coordinate, as short as can be."""
    return f"{round(number, 1) + 0.0:.10g}"  # + 0.0: no minus before zero


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    room: float = math.inf,
    size: float = SIZE,
    kind: str = "ink",
    color: str | None = None,
    turn: float = 0,
    bold: bool = False,
) -> str:
    """A text of at most this width; a text that is shortened has the whole one as its title."""
    shown, whole = fitted(words, room, size), clean(words)
    title = "" if shown == whole else f"<title>{escaped(whole)}</title>"
    turned = f' transform="rotate({at(turn)} {at(x)} {at(y)})"' if turn else ""
    heavy = ' font-weight="600"' if bold else ""
    sized = f' font-size="{at(size)}"' if size != SIZE else ""
    return (
        f'<text class="{kind}" x="{at(x)}" y="{at(y)}" text-anchor="{anchor}" fill="{color or getattr(LIGHT, kind)}"'
        f"{sized}{heavy}{turned}>{title}{escaped(shown)}</text>"
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str, color: str, *, width: float = 1, dash: str = "") -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path class="{kind}" d="M{at(x1)} {at(y1)}L{at(x2)} {at(y2)}" fill="none" stroke="{color}" '
        f'stroke-width="{at(width)}"{dashes}/>'
    )


def box(
    x: float, y: float, width: float, height: float, kind: str, color: str, *, opacity: float = 1, title: str = ""
) -> str:
    """A filled rectangle, with a title that appears under the pointer."""
    clear = f' fill-opacity="{round(opacity, 3):g}"' if opacity < 1 else ""
    place = f'x="{at(x)}" y="{at(y)}" width="{at(max(0, width))}" height="{at(max(0, height))}"'
    head = f'<rect class="{kind}" {place} fill="{color}"{clear}'
    return f"{head}><title>{escaped(clean(title))}</title></rect>" if title else f"{head}/>"


def picture(title: str, description: str, width: float, height: float, parts: Iterable[str]) -> str:
    """A whole SVG file, which can also stand in a page."""
    back = box(0, 0, width, height, "back", LIGHT.back)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" width="{at(width)}" height="{at(height)}" '
        f'viewBox="0 0 {at(width)} {at(height)}" font-family="{FONT}" font-size="{SIZE}">'
        f"<title>{escaped(clean(title))}</title><desc>{escaped(clean(description))}</desc>\n"
        + "\n".join([back, *parts])
        + "\n</svg>\n"
    )


def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in {"W", "F"}:
        return 1.05
    if letter in _NARROW:
        return 0.42
    if letter in _WIDE:
        return 1.0
    return 0.66 if letter.islower() or letter.isdigit() else 0.76
