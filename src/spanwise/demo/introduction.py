"""What the demo says before it trains: what spanwise is for, and one small example of input and output."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from spanwise.corpora import Corpus
from spanwise.document import Document
from spanwise.render.terminal import to_terminal

_SHOWN = "works_for"
_PURPOSE = """\
spanwise learns from labeled text to find spans in new text, with a label for each span, and the relations between
them. A span can be any run of words: a name, a date, a job, the verb of an event."""
_STEPS = """\
The demo now trains a model on {train} sentences of invented news with {entities} labels and {relations} relations.
This takes a few minutes; the line below shows the time left. Then it scores the model on {test} sentences with other
names, and marks a text that belongs to neither."""


def introduction(corpus: Corpus) -> Iterator[RenderableType]:
    """The parts of the introduction, to be printed one after the other."""
    train, test = corpus.split("train"), corpus.split("test")
    yield _paragraph(_PURPOSE)
    yield Text("\nYou give it labeled text, one JSON object per sentence or document:\n", style="bold")
    yield Text(as_json(shortest(train, relations=1)))
    yield Text("\nIt learns to mark new text in the same way:\n", style="bold")
    yield to_terminal(shortest(test, relations=2), corpus.schema)
    counts = {"train": len(train), "test": len(test)}
    types = {"entities": len(corpus.schema.entities), "relations": len(corpus.schema.relations)}
    yield Text("")
    yield _paragraph(_STEPS.format(**counts, **types))
    yield Text("")


def shortest(documents: tuple[Document, ...], relations: int) -> Document:
    """The shortest document about somebody's work with so many relations."""
    found = (d for d in documents if len(d.relations) == relations and any(r.label == _SHOWN for r in d.relations))
    return min(found, key=lambda document: len(document.text))


def as_json(document: Document) -> str:
    """The document as a native JSON record, one entity or relation a line."""
    entities = [json.dumps({"start": e.start, "end": e.end, "label": e.label}) for e in document.entities]
    relations = [json.dumps({"head": r.head, "tail": r.tail, "label": r.label}) for r in document.relations]
    text = json.dumps(document.text, ensure_ascii=False)
    return f'{{"text": {text},\n "entities": {_listed(entities, 14)},\n "relations": {_listed(relations, 15)}}}'


def _listed(records: list[str], indent: int) -> str:
    return "[" + (",\n" + " " * indent).join(records) + "]"


def _paragraph(text: str) -> Text:
    return Text(text.replace("\n", " "))
