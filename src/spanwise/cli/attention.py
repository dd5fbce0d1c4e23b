"""`spanwise attention`: which words of a label's description the words of a text attend to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanwise.cli.app import app, emit_json, err, out

if TYPE_CHECKING:
    from rich.table import Table

    from spanwise.render.elements import Heatmap

_SHOWN, _LEAST = 8, 0.005  # the terminal lists so many words of a description, with at least this weight


@app.command()
def attention(
    model: Annotated[str, typer.Argument(help="The folder of a LEAR model, or OWNER/NAME on the hub.")],
    text: Annotated[str, typer.Argument(help="The text itself.")],
    label: Annotated[str, typer.Option(help="The label whose description is attended to.")],
    word: Annotated[
        str | None, typer.Option(help="A word of the text, or several such as an entity; default: all words.")
    ] = None,
    target: Annotated[Path | None, typer.Option("--out", help="An SVG file for the picture; default: none.")] = None,
    reader: Annotated[str | None, typer.Option(help="The member of a bundle that is shown, by model name.")] = None,
    device: Annotated[str, typer.Option(help="Where to run: auto (CUDA where there is any), cpu, cuda, …")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; default: all cores.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Show how a word of a text distributes its attention over the description of a label, in a LEAR model.

    Example: spanwise attention runs/lear "The judge left Kell." --label Person --word judge --out judge.svg
    """
    from spanwise import runtime
    from spanwise.analysis.attention import attention as attend
    from spanwise.files import check_target, write_text
    from spanwise.inference.extractor import Extractor
    from spanwise.render.charts import to_svg

    if target is not None:
        check_target(target)
    runtime.set_threads(threads)
    extractor = Extractor.from_pretrained(model, device=device, reader=reader)
    found = attend(extractor, text, word, label)
    if target is not None:
        write_text(target, to_svg(found))
        err.print(f"wrote {target}", markup=False, soft_wrap=True)
    if as_json:
        rows = [{"word": name, "weights": list(row)} for name, row in zip(found.rows, found.values, strict=True)]
        emit_json({"label": label, "description": list(found.columns), "words": rows})
    else:
        out.print(_table(found))


def _table(found: Heatmap) -> Table:
    """The words of the text, each with the words of the description that it attends to most."""
    from rich.markup import escape
    from rich.table import Table

    from spanwise.render.tables import one_line

    table = Table("word", "attends to", title=escape(found.title), title_justify="left")
    for name, row in zip(found.rows, found.values, strict=True):
        pairs = zip(row, found.columns, strict=True)
        strongest = sorted(((value, column) for value, column in pairs if value and value >= _LEAST), reverse=True)
        attended = ", ".join(f"{column} {value:.2f}" for value, column in strongest[:_SHOWN])
        table.add_row(*(escape(one_line(text)) for text in (name, attended)))
    return table
