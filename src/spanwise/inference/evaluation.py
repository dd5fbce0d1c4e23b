"""A model's scores on labelled documents."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.document import Document
from spanwise.inference.extractor import Extractor
from spanwise.metrics import Evaluation, evaluate
from spanwise.models.registry import find
from spanwise.pipeline import Thresholds
from spanwise.text.alignment import segmented


def evaluate_model(extractor: Extractor, gold: Sequence[Document], threshold: Thresholds = 0.0) -> Evaluation:
    """Scores of what the model predicts on the documents' words; all gold entities count, alignable or not."""
    gold = [segmented(document) for document in gold]
    if not find(extractor.pipeline.blueprint.model.name).can.relations:
        gold = [document.with_annotations(document.entities) for document in gold]
    extractor.schema.check(gold, "the evaluation data")
    return evaluate(gold, list(extractor.stream(gold, threshold=threshold)), extractor.schema)
