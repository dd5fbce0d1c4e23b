"""What a result records of test: entities, relations where the model predicts them, and the counts of each document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from spanwise.document import Document
from spanwise.metrics import document_counts, evaluate, score_entities
from spanwise.schema import Schema

if TYPE_CHECKING:
    from spanwise.corpora import Corpus
    from spanwise.inference.extractor import Extractor
    from spanwise.recipe import DataSection


def on_test(extractor: Extractor, corpus: Corpus, data: DataSection) -> dict[str, Any]:
    """Scores of the labels that were trained, and of those left out (`new_labels`) where the model takes new ones."""
    from spanwise.inference.evaluation import predictions, scorable
    from spanwise.training.preparation import described

    corpus = described(corpus, data)
    gold: Sequence[Document] = corpus.split("test")
    if data.heads:
        gold = [document.narrowed_to_heads() for document in gold]
    new = data.leave_out
    known = [document.of_labels(extractor.schema.entity_names) for document in gold] if new else gold
    known = scorable(extractor, known)
    found = scores(known, predictions(extractor, known), extractor.schema)
    if new and extractor.pipeline.blueprint.model.config().takes_new_labels():
        asked = extractor.asking({kind.name: kind.description for kind in corpus.schema.entities if kind.name in new})
        hidden = [document.of_labels(new) for document in scorable(asked, gold)]
        found["new_labels"] = asdict(score_entities(hidden, predictions(asked, hidden)).micro)
    return found


def scores(gold: Sequence[Document], predicted: Sequence[Document], schema: Schema) -> dict[str, Any]:
    """The part of a result that tables and comparisons are made from."""
    found = evaluate(gold, predicted, schema)
    relations = found.relations.to_dict() if found.relations else None
    counts = asdict(document_counts(gold, predicted, schema))
    return {
        "test": asdict(found.entities.micro),
        "test_macro_f1": found.entities.macro.f1,
        "boundaries": asdict(found.boundaries),
        "widths": {group: asdict(score) for group, score in found.widths.items()},
        "nesting": {group: asdict(score) for group, score in found.nesting.items()},
        "relations": relations and {kind: _averages(relations[kind]) for kind in relations},
        "documents": {kind: [*map(list, rows)] for kind, rows in counts.items() if rows is not None},
    }


def _averages(scores: dict[str, Any]) -> dict[str, Any]:
    return {average: scores[average] for average in ("micro", "macro")}
