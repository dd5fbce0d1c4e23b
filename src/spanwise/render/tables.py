"""A table as Markdown, LaTeX, CSV, and as cells for a terminal."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from spanwise.render.elements import Interval, Table, Value

DASH = "–"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # what spreadsheets take for a formula
_MARKDOWN = re.compile(r"[\\|*`<\[\]]|(?<![^\W_])_|_(?![^\W_])")
_LATEX: Mapping[str, str] = MappingProxyType(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "–": "--",
        "—": "---",
        "−": "$-$",
        "±": r"$\pm$",
        "×": r"$\times$",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
        "→": r"$\to$",
        "…": r"\dots{}",
        "α": r"$\alpha$",
        "β": r"$\beta$",
        "ε": r"$\epsilon$",
        "Δ": r"$\Delta$",
    }
)


def formatted(value: Value | Interval, digits: int) -> str:
    """A cell in words: a dash for what is missing, floats with this many decimals, intervals as value [low, high]."""
    if isinstance(value, Interval):
        value_, low, high = (formatted(part, digits) for part in (value.value, value.low, value.high))
        return DASH if value_ == DASH else f"{value_} [{low}, {high}]"
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return DASH
    if isinstance(value, float):
        return f"{value:,.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else one_line(value)


def one_line(text: str) -> str:
    """The text without control characters and line breaks."""
    return " ".join(_CONTROL.sub("", text).split())


def cells(table: Table) -> list[list[str]]:
    """The rows of the table in words, without the header."""
    return [[formatted(value, table.digits) for value in row] for row in table.rows]


def numeric_columns(table: Table) -> list[bool]:
    """Whether a column holds numbers: they are aligned at the right."""
    columns = [[row[index] for row in table.rows if row[index] is not None] for index in range(len(table.header))]
    return [bool(column) and not any(isinstance(value, str) for value in column) for column in columns]


def to_markdown(table: Table) -> str:
    """A table of GitHub's Markdown, with the title above and the note below it."""
    rule = "|" + "".join("---:|" if numeric else "---|" for numeric in numeric_columns(table))
    header, *body = (f"| {' | '.join(row)} |" for row in _escaped(table, _markdown))
    title = [f"**{_markdown(one_line(table.title))}**", ""] if table.title else []
    note = ["", _markdown(one_line(table.note))] if table.note else []
    return "\n".join([*title, header, rule, *body, *note]) + "\n"


def to_latex(table: Table) -> str:
    """A `table` environment in the style of booktabs, with the title as its caption."""
    header, *body = (" & ".join(row) for row in _escaped(table, _latex))
    columns = "".join("r" if numeric else "l" for numeric in numeric_columns(table))
    # after a line's end, "[" would be read as a length and "*" as a star
    rows = [f"{{}}{row} \\\\" if row.startswith(("[", "*")) else f"{row} \\\\" for row in body]
    note = ["", r"\smallskip", rf"\footnotesize {_latex(one_line(table.note))}"] if table.note else []
    lines = [
        *(r"\begin{table}", r"\centering", rf"\caption{{{_latex(one_line(table.title))}}}"),
        *(rf"\begin{{tabular}}{{{columns}}}", r"\toprule", rf"{header} \\", r"\midrule"),
        *(*rows, r"\bottomrule", r"\end{tabular}", *note, r"\end{table}"),
    ]
    return "\n".join(lines) + "\n"


def to_csv(table: Table) -> str:
    """RFC 4180: numbers in full, the ends of intervals in columns of their own, and no text that a sheet would compute.

    A text that begins like a formula has an apostrophe before it.
    """
    intervals = [any(isinstance(row[i], Interval) for row in table.rows) for i in range(len(table.header))]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    names = (
        [name, f"{name} low", f"{name} high"] if wide else [name]
        for name, wide in zip(table.header, intervals, strict=True)
    )
    writer.writerow([_guarded(name) for group in names for name in group])
    for row in table.rows:
        writer.writerow([cell for value, wide in zip(row, intervals, strict=True) for cell in _raw(value, wide)])
    return stream.getvalue()


def _escaped(table: Table, escape: Callable[[str], str]) -> list[list[str]]:
    """Header and rows with their texts escaped; numbers need none."""
    body = [
        [escape(shown) if isinstance(value, str | None) else shown for value, shown in zip(row, line, strict=True)]
        for row, line in zip(table.rows, cells(table), strict=True)
    ]
    return [[escape(one_line(name)) for name in table.header], *body]


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(lambda found: "&lt;" if found[0] == "<" else f"\\{found[0]}", text)


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _raw(value: Value | Interval, wide: bool) -> Sequence[str]:
    """The cells of a value: three in a column of intervals."""
    if isinstance(value, Interval):
        return [_number(part) for part in (value.value, value.low, value.high)]
    return [_guarded(value) if isinstance(value, str) else _number(value), *([""] * 2 if wide else [])]


def _number(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else str(value)


def _guarded(text: str) -> str:
    text = _CONTROL.sub("", text)
    return f"'{text}" if text.startswith(_FORMULA) else text
