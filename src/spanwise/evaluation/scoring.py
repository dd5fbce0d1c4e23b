"""Score a model's predictions on labeled documents against their annotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from spanwise import metrics
from spanwise.document import Document
from spanwise.inference.extractor import Extractor
from spanwise.metrics import Evaluation
from spanwise.pipeline.pipeline import Threshold
from spanwise.plural import counted
from spanwise.text.alignment import AlignedDocument, align

LabeledDocument = Document | AlignedDocument


def evaluate(
    model: Extractor | Path | str,
    gold: Sequence[LabeledDocument],
    threshold: Threshold | None = None,
    relation_threshold: Threshold | None = None,
    *,
    heads: bool = False,
    reader: str | None = None,
) -> Evaluation:
    """Strict scores of a model or a model folder on labeled documents. Gold off word boundaries counts too.

    With `heads`, gold entities with a head region are scored by it. `reader` names the member that makes the
    predictions if the folder holds a bundle.
    """
    extractor = model if isinstance(model, Extractor) else Extractor.from_pretrained(model, reader=reader)
    rows = gold_for_model(extractor, gold)
    predicted = predictions(extractor, [row.document for row in rows], threshold, relation_threshold)
    return metrics.evaluate(rows, predicted, extractor.schema, heads=heads)


def predictions(
    extractor: Extractor,
    gold: Sequence[Document],
    threshold: Threshold | None = None,
    relation_threshold: Threshold | None = None,
) -> list[Document]:
    """The model's predictions on labeled documents. The model must know their labels."""
    extractor.schema.check(gold, "the evaluation data")
    return list(extractor.stream(gold, threshold=threshold, relation_threshold=relation_threshold))


def gold_for_model(extractor: Extractor, gold: Sequence[LabeledDocument]) -> list[AlignedDocument]:
    """The aligned documents, with relations only if the model predicts relations."""
    rows = [align(row) for row in gold]
    if extractor.pipeline.reader.traits.relations:
        return rows
    return [replace(row, document=row.document.without_relations()) for row in rows]


def unreachable_notices(extractor: Extractor, gold: Sequence[LabeledDocument]) -> list[str]:
    """Warnings about gold that the model cannot predict, whatever it learned. Such entities still lower recall."""
    rows = [align(row) for row in gold]
    spans = [span for row in rows for span in row.spans]
    reader = extractor.pipeline.reader
    widest = reader.traits.max_width
    wide = sum(span is not None and widest is not None and span[1] - span[0] > widest for span in spans)
    notices = []
    if misaligned := spans.count(None):
        lost = counted(misaligned, "gold entity does not fall", "gold entities do not fall")
        notices.append(f"{lost} on word boundaries and cannot be predicted.")
    if wide and widest is not None:
        lost = counted(wide, "gold entity is wider", "gold entities are wider")
        notices.append(f"{lost} than the model's {counted(widest, 'word')} and cannot be predicted.")
    if any(row.document.relations for row in rows) and not reader.traits.relations:
        notices.append(f"{reader.name} does not predict relations; the relations in the data are not scored.")
    return notices
