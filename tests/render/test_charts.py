"""Charts: valid files on their own, bounded, readable without color vision, and with hostile text as text."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sample_report import HOSTILE, sample_report

from spanwise.render.charts import chart_rules, to_svg
from spanwise.render.charts.axes import Scale
from spanwise.render.charts.colors import DARK, LIGHT, Shades
from spanwise.render.charts.scatter import MOST_POINTS
from spanwise.render.charts.svg import clean, fitted, text_width
from spanwise.render.elements import (
    Bars,
    Chart,
    Heatmap,
    Interval,
    Lines,
    Reliability,
    ReliabilityBin,
    Scatter,
    Series,
)
from spanwise.render.report import charts_of

SVG = "{http://www.w3.org/2000/svg}"
CHARTS = list(charts_of(sample_report()).values())
NAN, INFINITE = float("nan"), float("inf")
EMPTY: list[Chart] = [
    Heatmap("none", (), (), ()),
    Bars("none", (), ()),
    Bars("no series", ("a",), ()),
    Lines("none", (), ()),
    Reliability("none", ()),
    Scatter("none", {}),
    Scatter("an empty group", {"a": ()}),
]
MISSING: list[Chart] = [
    Heatmap("one", ("a",), ("b",), ((NAN,),)),
    Heatmap("zeros", ("a",), ("b", "c"), ((0.0, -INFINITE),), diverging=True),
    Bars("one", ("a",), (Series("s", (NAN,)),)),
    Bars("intervals", ("a", "b"), (Series("s", (Interval(1, NAN, 2), Interval(NAN, 0, 1))),)),
    Bars("too few values", ("a", "b"), (Series("s", (1.0,)),)),
    Lines("one", (1.0, NAN), (Series("s", (INFINITE, 2.0)), Series("t", (None, None)))),
    Reliability("one", (ReliabilityBin(0, 1, 3, NAN, 0.5), ReliabilityBin(0, 1, 0, 0, 0))),
    Scatter("one", {"a": ((NAN, 1), (1, INFINITE), (2, 2))}),
]


def parsed(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(to_svg(chart))  # noqa: S314


def shapes(root: ElementTree.Element, tag: str, kind: str = "") -> list[ElementTree.Element]:
    return [one for one in root.iter(f"{SVG}{tag}") if kind in one.get("class", "").split() or not kind]


def texts(root: ElementTree.Element) -> list[str]:
    return [list(one.itertext())[-1] for one in root.iter(f"{SVG}text")]


def places(root: ElementTree.Element) -> list[float]:
    """All coordinates and sizes of a picture."""
    values = [one.get(name, "") for one in root.iter() for name in ("x", "y", "width", "height", "d", "viewBox")]
    return [float(number) for value in values for number in re.findall(r"-?[\d.]+", value)]


@pytest.mark.parametrize(
    "chart", [*CHARTS, *EMPTY, *MISSING], ids=lambda chart: f"{type(chart).__name__} {chart.title}"
)
def test_each_chart_is_a_whole_file_with_a_title_and_a_description(chart: Chart) -> None:
    root = parsed(chart)
    assert (root.tag, root.get("role")) == (f"{SVG}svg", "img")
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == chart.title
    assert root[1].tag == f"{SVG}desc"
    assert root[1].text
    assert not re.search(r"\b(nan|inf)\b", to_svg(chart), re.IGNORECASE)
    assert not re.search(r"href|url\(|@import|<script|<style", to_svg(chart))


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.title)
def test_the_same_chart_is_the_same_text_each_time(chart: Chart) -> None:
    assert to_svg(chart) == to_svg(chart)


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_text_and_no_name_is_lost(hostile: str) -> None:
    for plain, chart in zip(CHARTS, charts_of(sample_report(lambda name: hostile + name)).values(), strict=True):
        root, expected = parsed(chart), parsed(plain)
        tags = [one.tag for one in root.iter() if one.tag != f"{SVG}title"]
        assert sorted(tags) == sorted(one.tag for one in expected.iter() if one.tag != f"{SVG}title")
        if chart.title in {"F1 by label", "Label confusion", "Span vectors"}:
            assert any(clean(hostile) in "".join(one.itertext()) for one in root.iter(f"{SVG}text"))


def test_no_text_is_wider_than_its_room() -> None:
    for text in (*HOSTILE, "W" * 50, "字" * 50, "i" * 300):
        for width in (20, 80, 200):
            assert text_width(fitted(text, width)) <= width
    assert fitted("short", 100) == "short"


def test_a_shortened_name_has_the_whole_one_as_its_title() -> None:
    root = parsed(Bars("b", ("L" * 3000, "M"), (Series("s", (1.0, 2.0)),)))
    (name,) = [one for one in root.iter(f"{SVG}text") if one.find(f"{SVG}title") is not None]
    assert name.findtext(f"{SVG}title") == "L" * 3000
    assert list(name.itertext())[-1].endswith("L…")
    assert len(list(name.itertext())[-1]) < 20


def boxes(root: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    """Where texts that are not turned are, by the estimate of their width."""
    found = []
    for one in root.iter(f"{SVG}text"):
        if one.get("transform"):
            continue
        size = float(one.get("font-size", 12))
        width, x, y = text_width(list(one.itertext())[-1], size), float(one.get("x", 0)), float(one.get("y", 0))
        left = x - width * {"start": 0, "middle": 0.5, "end": 1}[one.get("text-anchor", "start")]
        found.append((left, y - size * 0.75, left + width, y + size * 0.2))
    return found


@pytest.mark.parametrize("many", [1, 2, 5, 12, 40])
def test_names_do_not_overlap_and_stay_inside_the_picture(many: int) -> None:
    for letters in (1, 8, 25):
        names = tuple(f"{'x' * letters}{number}" for number in range(many))
        series = (Series("s", tuple(Interval(50.0, 40, 60) for _ in names)),)
        grid = tuple(tuple(float(i * j) for j in range(many)) for i in range(many))
        for chart in (Bars("b", names, series), Heatmap("h", names, names, grid)):
            root = parsed(chart)
            width, height = float(root.get("width", 0)), float(root.get("height", 0))
            found = boxes(root)
            assert all(x1 >= 0 and y1 >= 0 and x2 <= width + 1 and y2 <= height for x1, y1, x2, y2 in found)
            if many <= 12:
                assert not [
                    (a, b)
                    for a, b in combinations(found, 2)
                    if min(a[2], b[2]) - max(a[0], b[0]) > 0.5 and min(a[3], b[3]) - max(a[1], b[1]) > 0.5
                ]


def test_a_bar_is_as_high_as_its_value_and_its_error_bar_spans_the_interval() -> None:
    root = parsed(Bars("b", ("a", "b"), (Series("s", (Interval(40.0, 30.0, 50.0), 80.0)),)))
    one, two = shapes(root, "rect", "s0")
    assert float(two.get("height", 0)) == pytest.approx(2 * float(one.get("height", 0)), abs=0.2)
    (whisker,) = shapes(root, "path", "whisker")
    low, high = re.match(r"M\S+ (\S+)V([\d.]+)", whisker.get("d", "")).groups()  # type: ignore[union-attr]
    assert float(low) - float(high) == pytest.approx(float(one.get("height", 0)) / 2, abs=0.2)
    assert one.findtext(f"{SVG}title") == "a, s: 40.00 [30.00, 50.00]"


def test_negative_values_hang_below_zero() -> None:
    root = parsed(Bars("b", ("a", "b"), (Series("s", (-2.0, 2.0)),)))
    below, above = (float(one.get("y", 0)) for one in shapes(root, "rect", "s0"))
    assert below == pytest.approx(above + float(shapes(root, "rect", "s0")[1].get("height", 0)), abs=0.2)


def test_a_missing_value_is_a_gap_in_the_line() -> None:
    root = parsed(Lines("l", (1, 2, 3, 4), (Series("s", (1.0, None, 2.0, 3.0)),)))
    (path,) = [one.get("d", "") for one in shapes(root, "path", "t0")]
    assert [path.count("M"), path.count("L")] == [2, 1]
    assert len(shapes(root, "path", "s0")) == 3  # points


def test_a_diverging_heatmap_has_two_hues_and_nothing_at_zero() -> None:
    root = parsed(Heatmap("h", ("r",), ("a", "b", "c"), ((-4.0, 0.0, 2.0),), diverging=True))
    (low,), (zero, high) = shapes(root, "rect", "low"), shapes(root, "rect", "high")
    strength = [float(one.get("fill-opacity", 1)) for one in (low, zero, high)]
    assert strength[1] == 0
    assert strength[0] == pytest.approx(2 * strength[2], abs=0.01)
    assert texts(root)[-3:] == ["-4.0", "0.0", "+2.0"]


def test_a_reliability_diagram_shows_share_gap_and_count_of_each_bin() -> None:
    bins = (
        ReliabilityBin(0.0, 0.5, 10, 0.3, 0.2),
        ReliabilityBin(0.5, 1.0, 40, 0.9, 0.6),
        ReliabilityBin(0, 1, 0, 0, 0),
    )
    root = parsed(Reliability("r", bins))
    correct, gaps, counts = (shapes(root, "rect", kind)[-2:] for kind in ("s0", "s1", "quiet"))
    side = 250
    heights = [[float(one.get("height", 0)) for one in group] for group in (correct, gaps, counts)]
    flat = [height for pair in zip(*heights, strict=True) for height in pair]
    assert flat == pytest.approx([0.2 * side, 0.1 * side, 12.5, 0.6 * side, 0.3 * side, 50], abs=0.2)


def test_a_cloud_of_points_is_bounded() -> None:
    points = tuple((float(i), float(i * i % 997)) for i in range(30_000))
    svg = to_svg(Scatter("s", {"a": points, "b": points[:10]}))
    assert svg.count("M") - 50 < MOST_POINTS
    assert len(svg) < 500_000
    assert "30,000 points" in svg


def test_a_large_confusion_is_bounded() -> None:
    names = tuple(f"label {i}" + "x" * 3000 for i in range(60))
    svg = to_svg(
        Heatmap("h", names, names, tuple(tuple(float(i == j) for j in range(60)) for i in range(60)), digits=0)
    )
    assert len(svg) < 600_000


finite = st.floats(-1e6, 1e6)


@settings(max_examples=200, deadline=None)
@given(st.lists(finite, max_size=6), st.booleans())
def test_ticks_are_round_few_and_hold_all_values(values: list[float], zero: bool) -> None:
    scale = Scale.around(values, 100, 0, zero=zero)
    assert all(scale.low - 1e-6 <= value <= scale.high + 1e-6 * scale.step for value in values)
    assert 2 <= len(scale.ticks) <= 8
    labels = [scale.label(tick) for tick in scale.ticks]
    assert len(set(labels)) == len(labels)
    assert all(0 <= scale.place(value) <= 100 for value in values)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(max_size=5), st.one_of(st.none(), st.floats(), st.builds(Interval, finite, finite, finite))),
        max_size=5,
    )
)
def test_any_names_and_values_make_a_whole_picture(rows: list[tuple[str, float | Interval | None]]) -> None:
    names, values = tuple(name for name, _ in rows), tuple(value for _, value in rows)
    series = (Series("a", values), Series("b", values))
    grid = (tuple(value.value if isinstance(value, Interval) else value for value in values),)
    xs = tuple(float(i) for i in range(len(rows)))
    for chart in (Bars("b", names, series), Lines("l", xs, series), Heatmap("h", ("r",), names, grid)):
        root = parsed(chart)
        assert all(
            -10 <= place <= max(float(root.get("width", 0)), float(root.get("height", 0))) for place in places(root)
        )


_WHITE = np.array([0.95047, 1, 1.08883])
_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]])
VISION = {  # Machado, Oliveira and Fernandes 2009, severity 1
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def linear(color: str) -> NDArray[np.float64]:
    channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(color: NDArray[np.float64]) -> NDArray[np.float64]:
    ratio = _XYZ @ np.clip(color, 0, 1) / _WHITE
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


@pytest.mark.parametrize("shades", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("vision", VISION)
def test_series_differ_for_every_kind_of_color_vision(shades: Shades, vision: str) -> None:
    seen = [lab(np.array(VISION[vision]) @ linear(color)) for color in shades.series]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 20
    high, low = (lab(np.array(VISION[vision]) @ linear(color)) for color in (shades.high, shades.low))
    assert np.linalg.norm(high - low) > 40


@pytest.mark.parametrize("shades", [LIGHT, DARK], ids=["light", "dark"])
def test_marks_and_texts_stand_out_from_what_is_behind_them(shades: Shades) -> None:
    back = shades.luminance(shades.back)
    assert all(contrast(shades.luminance(color), back) >= 3 for color in shades.series)
    assert contrast(shades.luminance(shades.ink), back) >= 7
    assert contrast(shades.luminance(shades.quiet), back) >= 4.5
    for color in (shades.high, shades.low):
        for strength in np.linspace(0, 1, 101):
            over = {"#000000": 0.0, "#ffffff": 1.0}[shades.text_on(color, strength)]
            assert contrast(shades.luminance(color, strength), over) >= 4.5


def test_the_page_can_replace_every_color_of_a_chart() -> None:
    rules = chart_rules()
    for chart in CHARTS:
        kinds = {one.get("class") for one in parsed(chart).iter() if one.get("class")} - {"chart", None}
        assert kinds
        assert all(f".chart .{kind}{{" in rules for kind in kinds)
