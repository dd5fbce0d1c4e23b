"""`spanwise corpora`: the corpora that spanwise knows by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from spanwise.cli.app import app, emit_json, out


@app.command()
def corpora(
    data: Annotated[Path | None, typer.Option(help="Folder of the corpora; default: $SPANWISE_DATA.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the corpora known by name: task, splits, labels, license, whether they are here, and where to get them.

    Example: [bold]spanwise corpora --json[/]
    """
    from spanwise.corpora import CORPORA, DATA_VARIABLE, is_present

    rows = [
        {
            "name": named.name,
            "task": named.task,
            "splits": list(named.splits),
            "folds": len(named.folds),
            "entity_types": named.entity_types,
            "relation_types": named.relation_types,
            "nested": named.nested,
            "license": named.license,
            "source": named.source,
            "present": is_present(named, data),
        }
        for named in CORPORA
    ]
    if json:
        emit_json({"corpora": rows})
        return
    out.print(_table(rows))
    out.print(f"where to get them; put them below ${DATA_VARIABLE}, or give their folder with --data:", markup=False)
    for row in rows:
        out.print(f"  {row['name']}: {row['source']}", markup=False, soft_wrap=True)


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in ("name", "task", "splits", "types", "nested", "license", "here"):
        table.add_column(column, no_wrap=column != "task")
    for row in rows:
        relations = f" + {row['relation_types']}" if row["relation_types"] else ""
        table.add_row(
            row["name"],
            row["task"],
            "/".join(row["splits"]),
            f"{row['entity_types']}{relations}",
            "yes" if row["nested"] else "no",
            row["license"],
            "yes" if row["present"] else "no",
        )
    folds = (f"{row['name']}/0 to {row['name']}/{row['folds'] - 1} are its folds" for row in rows if row["folds"])
    table.caption = "; ".join(("types: of entities + of relations", *folds))
    return table
