"""A grid of numbers as colors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spanwise.render.charts.axes import described
from spanwise.render.charts.colors import DARK, LIGHT
from spanwise.render.charts.svg import DASH, SIZE, box, finite, fitted, picture, text, text_width
from spanwise.render.elements import Heatmap

NAME = 150  # the most room of a row's or a column's name
BROAD = 420  # of a grid with all its columns' names side by side
CELL_HEIGHT = 26
_DENSE = 900  # cells; of a larger grid, zeros have no number
_STRONGEST = 0.92
_SINE = 0.7  # of the angle by which column names are turned


def draw_heatmap(chart: Heatmap) -> str:
    grid = _Grid.of(chart)
    parts = [*_names(chart, grid), *(part for place in _places(chart) for part in _cell(chart, grid, *place))]
    return picture(chart.title, _description(chart), grid.width, grid.height, parts)


@dataclass(frozen=True, slots=True)
class _Grid:
    left: float
    top: float
    cell: float
    turned: bool
    width: float
    height: float
    strongest: float
    dense: bool

    @classmethod
    def of(cls, chart: Heatmap) -> _Grid:
        numbers = [value for row in chart.values for value in map(finite, row) if value is not None]
        shown = max((text_width(f"{value:.{chart.digits}f}", SIZE - 1) for value in numbers), default=0)
        wanted = max((text_width(fitted(name, NAME)) for name in chart.columns), default=0)
        cell = max(shown + 10, 34)
        turned = len(chart.columns) * (wanted + 10) > max(len(chart.columns) * cell, BROAD)
        cell = cell if turned else max(cell, wanted + 10)
        names = max((text_width(fitted(name, NAME)) for name in chart.rows), default=0)
        left = names + 12 + (SIZE + 8 if chart.row_title else 0)
        top = (wanted * _SINE + 16 if turned else SIZE + 12) + (SIZE + 8 if chart.column_title else 0)
        overhang = wanted * _SINE if turned else 0
        width = left + max(1, len(chart.columns)) * cell + max(8, overhang - cell / 2 + 8)
        width = max(width, text_width(fitted(chart.column_title, 2 * NAME)) + 16)
        height = top + max(1, len(chart.rows)) * CELL_HEIGHT + 8
        dense = len(chart.rows) * len(chart.columns) > _DENSE
        return cls(left, top, cell, turned, width, height, max(map(abs, numbers), default=0) or 1, dense)


def _places(chart: Heatmap) -> Iterator[tuple[int, int]]:
    return ((row, column) for row in range(len(chart.rows)) for column in range(len(chart.columns)))


def _names(chart: Heatmap, grid: _Grid) -> Iterator[str]:
    middle = grid.top + len(chart.rows) * CELL_HEIGHT / 2
    if chart.row_title:
        room = 2 * min(middle, grid.height - middle)
        yield text(SIZE, middle, chart.row_title, anchor="middle", kind="quiet", turn=-90, room=room)
    if chart.column_title:
        half = text_width(fitted(chart.column_title, 2 * NAME)) / 2 + 8
        across = max(half, min(grid.width - half, grid.left + len(chart.columns) * grid.cell / 2))
        yield text(across, SIZE, chart.column_title, anchor="middle", kind="quiet", room=2 * NAME)
    for row, name in enumerate(chart.rows):
        y = grid.top + (row + 0.5) * CELL_HEIGHT + SIZE / 3
        yield text(grid.left - 8, y, name, anchor="end", room=NAME)
    for column, name in enumerate(chart.columns):
        x = grid.left + (column + 0.5) * grid.cell
        if grid.turned:
            yield text(x, grid.top - 8, name, room=NAME, turn=-45)
        else:
            yield text(x, grid.top - 8, name, anchor="middle", room=NAME)


def _cell(chart: Heatmap, grid: _Grid, row: int, column: int) -> Iterator[str]:
    number = finite(chart.values[row][column])
    x, y = grid.left + column * grid.cell, grid.top + row * CELL_HEIGHT
    if number is None or (grid.dense and number == 0):
        if number is None and not grid.dense:
            yield text(x + grid.cell / 2, y + CELL_HEIGHT / 2 + SIZE / 3, DASH, anchor="middle", kind="quiet", size=11)
        return
    kind = "low" if number < 0 else "high"
    strength = _STRONGEST * abs(number) / grid.strongest
    number = round(number, chart.digits) + 0.0  # + 0.0: no minus before zero
    shown = f"{number:{'+' if chart.diverging and number else ''}.{chart.digits}f}"
    title = f"{fitted(chart.rows[row], 300)}, {fitted(chart.columns[column], 300)}: {shown}"
    yield box(x + 1, y + 1, grid.cell - 2, CELL_HEIGHT - 2, kind, getattr(LIGHT, kind), opacity=strength, title=title)
    yield _number(x + grid.cell / 2, y + CELL_HEIGHT / 2 + SIZE / 3, shown, kind, strength)


def _number(x: float, y: float, shown: str, kind: str, strength: float) -> str:
    in_dark = "black" if DARK.text_on(getattr(DARK, kind), strength) == "#000000" else "white"
    color = LIGHT.text_on(getattr(LIGHT, kind), strength)
    return text(x, y, shown, anchor="middle", size=SIZE - 1, kind=f"on-dark-{in_dark}", color=color)


def _description(chart: Heatmap) -> str:
    names = [fitted(name, 200) for name in chart.rows], [fitted(name, 200) for name in chart.columns]
    values = ((r, c, finite(chart.values[r][c])) for r, c in _places(chart))
    facts = (f"{names[0][r]}, {names[1][c]}: {v:.{chart.digits}f}" for r, c, v in values if v)
    return described(f"Heatmap, {len(chart.rows)} rows by {len(chart.columns)} columns", facts)
