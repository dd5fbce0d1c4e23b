"""What the demo shows first: the general model finds labels that it is asked for, without training."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from spanwise.inference.extractor import Extractor
from spanwise.render.terminal import to_terminal

EXAMPLES = (
    ("Ibuprofen eased the migraine within an hour.", ("drug", "disease or symptom", "duration")),
    (
        "Mara Ostrow left Velmark Foods for the University of Leeds in March 2021.",
        ("person", "company", "university", "date"),
    ),
)
TITLE = "\nAny labels, without training\n"
COMMAND = "spanwise extract --labels"


def any_labels(extractor: Extractor | None = None) -> Iterator[RenderableType]:
    """Each example with the command that gives it, to be printed one after the other."""
    general = extractor or Extractor.general()
    yield Text(TITLE, style="bold")
    for text, labels in EXAMPLES:
        asked = general.with_labels(list(labels))
        yield Text(f'$ {COMMAND} "{", ".join(labels)}" "{text}"')
        yield to_terminal(asked(text), asked.schema)
        yield Text("")
