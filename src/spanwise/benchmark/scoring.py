"""Scores in a result: entities, relations if the model predicts them, and counts per document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from spanwise.document import Document
from spanwise.metrics import document_counts, evaluate, score_entities
from spanwise.schema import Schema
from spanwise.text.alignment import AlignedDocument, align

if TYPE_CHECKING:
    from spanwise.corpora.selection import Selection
    from spanwise.inference.extractor import Extractor


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a model on a split, and the predictions behind them, in the order of the documents."""

    scores: dict[str, Any]
    predictions: list[Document]


def score_model(extractor: Extractor, data: Selection, split: str) -> Scored:
    """Scores on the trained labels and, if the model accepts new labels, on those left out (`new_labels`)."""
    from spanwise.evaluation.scoring import gold_for_model, predictions

    known = gold_for_model(extractor, data.split(split))
    predicted = predictions(extractor, [row.document for row in known])
    found = scores(known, predicted, extractor.schema)
    new, rows = data.held_out(split)
    if new.entities and extractor.pipeline.reader.traits.open_labels:
        asked = extractor.with_labels({kind.name: kind.description for kind in new.entities})
        hidden = [row.document for row in gold_for_model(asked, rows)]
        found["new_labels"] = asdict(score_entities(hidden, predictions(asked, hidden)).micro)
    return Scored(found, predicted)


def scores(gold: Sequence[Document | AlignedDocument], predicted: Sequence[Document], schema: Schema) -> dict[str, Any]:
    """The part of a result that tables and comparisons use: micro, macro and per-label scores, and document counts."""
    rows = [align(row) for row in gold]
    counts = asdict(document_counts([row.document for row in rows], predicted, schema))
    return {
        **evaluate(rows, predicted, schema).to_dict(),
        "documents": {kind: [*map(list, rows)] for kind, rows in counts.items() if rows is not None},
    }
