"""How `spanwise benchmark` lists the papers' tables and figures, and prints or saves them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanwise.cli.app import emit_json, out
from spanwise.errors import InputError

if TYPE_CHECKING:
    from spanwise.benchmark.papers import Exhibit
    from spanwise.render.elements import Chart, Element, Table


class Format(StrEnum):
    """How a table or figure is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"
    SVG = "svg"


def list_exhibits(results: Path, as_json: bool) -> None:
    """All tables and figures with their command, and what is recorded of them on which corpus."""
    from spanwise.benchmark.papers import exhibits

    rows = [_listed(name, exhibit, results) for name, exhibit in exhibits().items()]
    recorded = sum(row["recorded"] for row in rows)
    if as_json:
        emit_json({"exhibits": rows, "recorded": recorded})
        return
    from rich.table import Table as Grid

    grid = Grid("name", "table or figure", "suite", "variants recorded on")
    for row in rows:
        grid.add_row(row["name"], row["title"], row["suite"] or "–", row["shown"])
    out.print(grid)
    out.print(f"{len(rows)} tables and figures, {recorded} recorded in {results}. One is shown, or run first, by:")
    out.print("spanwise benchmark NAME", highlight=False)


def _listed(name: str, exhibit: Exhibit, results: Path) -> dict[str, Any]:
    from spanwise.benchmark.papers import is_recorded, recorded_variants

    shares = {corpus: recorded_variants(exhibit, corpus, results) for corpus in exhibit.corpora if exhibit.suite}
    counted = ", ".join(f"{corpus} {done}/{all_}" for corpus, (done, all_) in shares.items())
    return {
        "name": name,
        "command": f"python {exhibit.script}" if exhibit.script else f"spanwise benchmark {name}",
        "title": exhibit.title,
        "suite": exhibit.suite,
        "corpora": list(exhibit.corpora),
        "recorded": is_recorded(exhibit, results),
        "shown": counted or exhibit.page or "counted from the corpora",
    }


def emit(elements: Sequence[Element], format: Format, save: Path | None, *, as_json: bool = False) -> None:
    """Print or save the tables, or the charts for SVG; as JSON, all of them."""
    if as_json:
        emit_json([{"kind": type(element).__name__.lower(), **asdict(element)} for element in elements])
        return
    from spanwise.render.charts import to_svg
    from spanwise.render.elements import Table
    from spanwise.render.tables import to_csv, to_latex, to_markdown

    tables = [element for element in elements if isinstance(element, Table)]
    if format is Format.SVG:
        charts: list[Any] = [element for element in elements if not isinstance(element, Table)]
        _save_charts(charts, to_svg, save)
        return
    if format is Format.TEXT:
        _print(tables, has_charts=len(tables) < len(elements))
        return
    if not tables:
        raise InputError(f"this figure has no table; give --format svg instead of {format}.")
    write = {Format.MARKDOWN: to_markdown, Format.LATEX: to_latex, Format.CSV: to_csv}[format]
    _write("\n".join(map(write, tables)), save)


def _print(tables: Sequence[Table], *, has_charts: bool) -> None:
    from rich.markup import escape
    from rich.table import Table as Grid

    from spanwise.render.tables import cells

    for table in tables:
        grid = Grid(*map(escape, table.header), title=escape(table.title), caption=escape(table.note) or None)
        for row in cells(table):
            grid.add_row(*map(escape, row))
        out.print(grid)
    if has_charts:
        out.print("The figure: the same command with --format svg --save FILE.svg", highlight=False)


def _save_charts(charts: Sequence[Chart], to_svg: Callable[[Any], str], save: Path | None) -> None:
    """One chart is a file or standard output; several are files in a folder."""
    if not charts:
        raise InputError("this table has no figure; give --format markdown, latex or csv.")
    if len(charts) == 1:
        _write(to_svg(charts[0]), save)
        return
    if save is None or save.suffix:
        raise InputError(f"there are {len(charts)} figures; give --save FOLDER.")
    for number, chart in enumerate(charts, 1):
        _write(to_svg(chart), save / f"{number}.svg")


def _write(content: str, save: Path | None) -> None:
    from spanwise.files import atomic_file

    if save is None:
        out.file.write(content)
        return
    save.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(save) as draft:
        draft.write_text(content, encoding="utf-8")
