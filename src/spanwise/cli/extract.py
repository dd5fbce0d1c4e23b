"""`spanwise extract`: text, labels and relations in, entities and relations out, without training."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from spanwise.cli.app import app, emit_json, err, out
from spanwise.cli.options import asked_labels


@app.command()
def extract(
    text: Annotated[
        str | None, typer.Argument(help="The text; default: standard input, one text.", show_default=False)
    ] = None,
    labels: Annotated[
        str,
        typer.Option(
            help="What to look for: names with commas between them, or a YAML file of descriptions.", show_default=False
        ),
    ] = "",
    relations: Annotated[
        str | None,
        typer.Option(
            help="Relations to look for, given like labels; with these alone, the labels are the model's own.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[str, typer.Option(help="A model folder with open labels, or the general model.")] = "general",
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Lowest probability of an entity; default: the model's.")
    ] = None,
    relation_threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Lowest probability of a relation; default: the model's.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")] = False,
) -> None:
    """Mark any labels in a text, by their names or descriptions, without training.

    Example: echo "Ibuprofen eased the migraine." | spanwise extract --labels "drug, disease or symptom"
    Example: spanwise extract "Mara Ostrow lives in Brenford." --labels "person, place" --json
    Example: spanwise extract "Mara Ostrow lives in Brenford." --labels labels.yaml --model runs/mine
    Example: spanwise extract "Mara Ostrow lives in Brenford." --relations "lives in" --model runs/mine
    """
    from spanwise.inference.labels import label_descriptions

    # refused before a model is loaded
    asked = label_descriptions(asked_labels(labels)) if labels or relations is None else None
    related = None if relations is None else label_descriptions(asked_labels(relations, "relations"), "relations")
    if text is None and sys.stdin.isatty():
        err.print("reading from the terminal; end the text with Ctrl-D on a line of its own")
    given = sys.stdin.read().strip() if text is None else text
    from spanwise.inference.extractor import Extractor
    from spanwise.render.terminal import to_terminal

    extractor = Extractor.from_pretrained(model).with_labels(asked, related)
    document = next(extractor.stream([given], threshold=threshold, relation_threshold=relation_threshold))
    if as_json:
        emit_json(document.to_dict())
        return
    out.print(to_terminal(document, extractor.schema))
