"""Tables as Markdown, LaTeX and CSV: every number, and no text that becomes markup or a formula."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_report import HOSTILE

from spanwise.render.elements import Interval, Table
from spanwise.render.tables import cells, to_csv, to_latex, to_markdown

TABLE = Table(
    "Scores",
    ("label", "F1", "gold"),
    (("Person", Interval(81.234, 79.0, 83.5), 1200), ("a_b|c", None, 3), ("x_1", 7.0, None)),
    "Strict.",
)


def test_cells_have_the_digits_of_the_table_and_dashes() -> None:
    assert cells(TABLE) == [["Person", "81.23 [79.00, 83.50]", "1,200"], ["a_b|c", "–", "3"], ["x_1", "7.00", "–"]]
    assert cells(Table("", ("a",), ((float("nan"),), (1.26,)), digits=1)) == [["–"], ["1.3"]]


def test_markdown_aligns_numbers_and_escapes_text() -> None:
    assert to_markdown(TABLE) == (
        "**Scores**\n\n| label | F1 | gold |\n|---|---:|---:|\n| Person | 81.23 [79.00, 83.50] | 1,200 |\n"
        "| a_b\\|c | – | 3 |\n| x_1 | 7.00 | – |\n\nStrict.\n"
    )


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_markdown_keeps_one_line_per_row_and_no_tag(hostile: str) -> None:
    lines = to_markdown(Table(hostile, (hostile, "b"), ((hostile, hostile),), hostile)).splitlines()
    assert len(lines) == 7
    header, rule, row = lines[2:5]
    assert rule == "|---|---|"
    for line in (header, row):
        assert line.replace("\\\\", "").replace("\\|", "").count("|") == 3
    assert "<" not in "".join(lines)
    assert "](" not in "".join(lines).replace("\\](", "")


def test_latex_is_a_table_of_booktabs() -> None:
    assert to_latex(TABLE).splitlines() == [
        *(r"\begin{table}", r"\centering", r"\caption{Scores}", r"\begin{tabular}{lrr}", r"\toprule"),
        *(r"label & F1 & gold \\", r"\midrule", r"Person & 81.23 [79.00, 83.50] & 1,200 \\"),
        *(r"a\_b\textbar{}c & -- & 3 \\", r"x\_1 & 7.00 & -- \\", r"\bottomrule", r"\end{tabular}"),
        *("", r"\smallskip", r"\footnotesize Strict.", r"\end{table}"),
    ]


def test_latex_escapes_every_special_character() -> None:
    row = to_latex(Table("", ("a",), (("&%$#_{}~^\\<>|±",),))).splitlines()[7]
    assert row == (
        r"\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}\textless{}\textgreater{}\textbar{}$\pm$ \\"
    )


def test_a_bracket_after_a_line_of_latex_is_no_option() -> None:
    lines = to_latex(Table("", ("bucket",), (("[2, 4)",), ("* all",)))).splitlines()
    assert lines[7:9] == [r"{}[2, 4) \\", r"{}* all \\"]


@pytest.mark.slow
def test_latex_compiles(tmp_path: Path) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("pdflatex is not on this machine")
    hostile = tuple((text[:60].encode("ascii", "ignore").decode(), 1.0) for text in HOSTILE)
    table = to_latex(Table("&%$#_{}~^\\", ("[a]", "b"), hostile, "100% #1"))
    page = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{table}\\end{{document}}\n"
    (tmp_path / "t.tex").write_text(page, encoding="utf-8")
    done = subprocess.run([program, "-halt-on-error", "t.tex"], cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stdout[-500:]


def test_csv_has_numbers_in_full_and_the_ends_of_intervals() -> None:
    assert to_csv(TABLE) == (
        "label,F1,F1 low,F1 high,gold\r\nPerson,81.234,79.0,83.5,1200\r\na_b|c,,,,3\r\nx_1,7.0,,,\r\n"
    )


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@sum(a)", "\t=1", "\r=1", "=cmd|' /C calc'!A0"])
def test_csv_text_is_never_a_formula_and_numbers_stay_numbers(start: str) -> None:
    rows = list(csv.reader(io.StringIO(to_csv(Table("", (start,), ((start,), (-1.5,))))), strict=True))
    assert [row[0].startswith("'") for row in rows] == [True, True, False]
    assert rows[2] == ["-1.5"]


numbers = st.one_of(st.none(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False))
names = st.text(st.characters(exclude_categories=["Cc", "Cs"]))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(names, numbers), max_size=4))
def test_csv_reads_back(rows: list[tuple[str, float | None]]) -> None:
    text = to_csv(Table("", ("a", "b"), tuple(rows)))
    found = list(csv.reader(io.StringIO(text, newline=""), strict=True))[1:]
    for (name, number), (shown, value) in zip(rows, found, strict=True):
        assert shown in {name, f"'{name}"}
        assert (float(value) if value else None) == number
