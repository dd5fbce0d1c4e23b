"""Score a model: what it predicts on labelled documents against what they mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from spanwise import metrics
from spanwise.document import Document
from spanwise.inference.extractor import Extractor
from spanwise.metrics import Evaluation
from spanwise.pipeline.pipeline import Threshold
from spanwise.text.alignment import AlignedDocument, aligned

Labelled = Document | AlignedDocument


def evaluate(
    model: Extractor | Path | str,
    gold: Sequence[Labelled],
    threshold: Threshold | None = None,
    relation_threshold: Threshold | None = None,
    *,
    heads: bool = False,
    reads: str | None = None,
) -> Evaluation:
    """Strict scores of a model, or of the model in a folder, on labelled documents; all gold counts, alignable or not.

    With `heads`, gold entities that mark a head region count by it. `reads` names the member of a bundle in a folder
    that reads out.
    """
    extractor = model if isinstance(model, Extractor) else Extractor.from_pretrained(model, reads=reads)
    rows = scorable(extractor, gold)
    predicted = predictions(extractor, [row.document for row in rows], threshold, relation_threshold)
    return metrics.evaluate(rows, predicted, extractor.schema, heads=heads)


def predictions(
    extractor: Extractor,
    gold: Sequence[Document],
    threshold: Threshold | None = None,
    relation_threshold: Threshold | None = None,
) -> list[Document]:
    """What the model predicts on labelled documents, whose labels it must know."""
    extractor.schema.check(gold, "the evaluation data")
    return list(extractor.stream(gold, threshold=threshold, relation_threshold=relation_threshold))


def scorable(extractor: Extractor, gold: Sequence[Labelled]) -> list[AlignedDocument]:
    """The documents with words, and with relations only if the model predicts any."""
    rows = [aligned(row) for row in gold]
    if extractor.pipeline.reader.traits.relations:
        return rows
    return [replace(row, document=row.document.without_relations()) for row in rows]


def unreachable(extractor: Extractor, gold: Sequence[Labelled]) -> list[str]:
    """What of the gold the model cannot predict, whatever it learnt; it counts against recall all the same."""
    rows = [aligned(row) for row in gold]
    spans = [span for row in rows for span in row.spans]
    reader = extractor.pipeline.reader
    widest = reader.traits.max_width
    wide = sum(span is not None and widest is not None and span[1] - span[0] > widest for span in spans)
    notices = []
    if misaligned := spans.count(None):
        notices.append(f"{misaligned} gold entities do not fall on word borders and cannot be found.")
    if wide:
        notices.append(f"{wide} gold entities are wider than the model's {widest} words and cannot be found.")
    if any(row.document.relations for row in rows) and not reader.traits.relations:
        notices.append(f"{reader.name} does not predict relations; those of the data are not scored.")
    return notices
