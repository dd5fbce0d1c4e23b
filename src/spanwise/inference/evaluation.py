"""A model's scores on labelled documents."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.document import Document
from spanwise.inference.extractor import Extractor
from spanwise.metrics import Evaluation, evaluate
from spanwise.models.registry import find
from spanwise.pipeline import Thresholds
from spanwise.text.alignment import segmented, word_spans


def evaluate_model(
    extractor: Extractor,
    gold: Sequence[Document],
    threshold: Thresholds | None = None,
    relation_threshold: Thresholds | None = None,
    *,
    heads: bool = False,
) -> Evaluation:
    """Scores of what the model predicts on the documents' words; all gold counts, alignable or not.

    With `heads`, gold entities that mark a head region count by it.
    """
    predicted = predictions(extractor, gold, threshold, relation_threshold)
    return evaluate(scorable(extractor, gold), predicted, extractor.schema, heads=heads)


def predictions(
    extractor: Extractor,
    gold: Sequence[Document],
    threshold: Thresholds | None = None,
    relation_threshold: Thresholds | None = None,
) -> list[Document]:
    """What the model says about labelled documents, whose labels it must know."""
    gold = scorable(extractor, gold)
    extractor.schema.check(gold, "the evaluation data")
    return list(extractor.stream(gold, threshold=threshold, relation_threshold=relation_threshold))


def scorable(extractor: Extractor, gold: Sequence[Document]) -> list[Document]:
    """The documents with words, and with relations only if the model predicts any."""
    gold = [segmented(document) for document in gold]
    if not find(extractor.pipeline.blueprint.model.name).can.relations:
        return [document.with_annotations(document.entities) for document in gold]
    return gold


def out_of_reach(extractor: Extractor, gold: Sequence[Document]) -> list[str]:
    """What of the gold the model cannot find, whatever it learnt; it counts against recall all the same."""
    spans = [span for document in gold for span in word_spans(segmented(document))]
    blueprint = extractor.pipeline.blueprint
    widest = blueprint.model.config().widest()
    wide = sum(span is not None and widest is not None and span[1] - span[0] > widest for span in spans)
    told = []
    if misaligned := spans.count(None):
        told.append(f"{misaligned} gold entities do not fall on word borders and cannot be found.")
    if wide:
        told.append(f"{wide} gold entities are wider than the model's {widest} words and cannot be found.")
    if any(document.relations for document in gold) and not find(blueprint.model.name).can.relations:
        told.append(f"{blueprint.model.name} does not predict relations; those of the data are not scored.")
    return told
