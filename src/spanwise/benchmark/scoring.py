"""Test scores in a result: entities, relations if the model predicts them, and counts per document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from spanwise.document import Document
from spanwise.metrics import document_counts, evaluate, score_entities
from spanwise.schema import Schema
from spanwise.text.alignment import AlignedDocument, align

if TYPE_CHECKING:
    from spanwise.corpora.selection import Selection
    from spanwise.inference.extractor import Extractor


def score_on_test(extractor: Extractor, data: Selection) -> dict[str, Any]:
    """Scores on the trained labels and, if the model accepts new labels, on those left out (`new_labels`)."""
    from spanwise.evaluation.scoring import gold_for_model, predictions

    known = gold_for_model(extractor, data.split("test"))
    found = scores(known, predictions(extractor, [row.document for row in known]), extractor.schema)
    new, rows = data.held_out("test")
    if new.entities and extractor.pipeline.reader.traits.open_labels:
        asked = extractor.with_labels({kind.name: kind.description for kind in new.entities})
        hidden = [row.document for row in gold_for_model(asked, rows)]
        found["new_labels"] = asdict(score_entities(hidden, predictions(asked, hidden)).micro)
    return found


def scores(gold: Sequence[Document | AlignedDocument], predicted: Sequence[Document], schema: Schema) -> dict[str, Any]:
    """The part of a result that tables and comparisons use."""
    rows = [align(row) for row in gold]
    found = evaluate(rows, predicted, schema)
    relations = found.relations.to_dict() if found.relations else None
    counts = asdict(document_counts([row.document for row in rows], predicted, schema))
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
