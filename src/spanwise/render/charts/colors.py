"""Colors of charts: fixed attributes for a file on white, and a style sheet by which a page replaces them.

Every mark of a chart has a color as an attribute and a class. Any viewer shows the attribute; in a page the rules of
`chart_rules` win over it and follow the page's light or dark mode. The colors of series stay apart for color-blind
readers (tests simulate protanopia, deuteranopia and tritanopia).
"""

from __future__ import annotations

from dataclasses import dataclass

_FLIP = 0.179  # the luminance on which black and white text have the same contrast, above 4.5


@dataclass(frozen=True, slots=True)
class Shades:
    """The colors of one mode. A cell of a heatmap is `high` or `low`, laid over `back` by its strength."""

    back: str
    ink: str
    quiet: str
    grid: str
    high: str
    low: str
    series: tuple[str, ...]

    def text_on(self, color: str, strength: float) -> str:
        """Black or white, whichever reads better on a color laid over the background."""
        return "#000000" if self.luminance(color, strength) > _FLIP else "#ffffff"

    def luminance(self, color: str, strength: float = 1.0) -> float:
        """The relative luminance (WCAG 2) of a color laid over the background."""
        layers = zip(_channels(color), _channels(self.back), strict=True)
        mixed = [_linear(strength * over + (1 - strength) * under) for over, under in layers]
        return 0.2126 * mixed[0] + 0.7152 * mixed[1] + 0.0722 * mixed[2]


LIGHT = Shades(
    *("#ffffff", "#1d1f23", "#5c6068", "#e3e1dc", "#0a4f8f", "#9a3d00"),
    series=("#128ce2", "#f36016", "#044e3b", "#c15c97", "#211041", "#614205"),
)
DARK = Shades(
    *("#1b1e24", "#e8e6e1", "#a2a7b0", "#2d3139", "#8cc8ff", "#ffab66"),
    series=("#1170d0", "#d54f0b", "#77f8cd", "#b14384", "#bebeef", "#f8cd77"),
)


def series_index(index: int) -> int:
    """The color of a series; colors repeat where there are more series than colors."""
    return index % len(LIGHT.series)


def chart_rules() -> str:
    """The style sheet of charts in a page, for both modes."""
    return f"{_rules(LIGHT)}\n@media (prefers-color-scheme:dark){{{_rules(DARK)}{_CELL_TEXT}}}\n"


_CELL_TEXT = ".chart .on-dark-black{fill:#000}.chart .on-dark-white{fill:#fff}"


def _rules(shades: Shades) -> str:
    fills = "".join(
        f".chart .{name}{{fill:{getattr(shades, name)}}}" for name in ("back", "ink", "quiet", "high", "low")
    )
    strokes = {"grid": shades.grid, "axis": shades.quiet, "whisker": shades.ink}
    lines = "".join(f".chart .{name}{{stroke:{color}}}" for name, color in strokes.items())
    series = "".join(f".chart .s{i}{{fill:{c}}}.chart .t{i}{{stroke:{c}}}" for i, c in enumerate(shades.series))
    return fills + lines + series


def _channels(color: str) -> tuple[float, float, float]:
    red, green, blue = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)
