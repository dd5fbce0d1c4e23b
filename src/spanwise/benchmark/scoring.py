"""What a result records of test: entities, relations where the model predicts them, and the counts of each document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from spanwise.document import Document
from spanwise.metrics import document_counts, evaluate
from spanwise.schema import Schema


def scores(gold: Sequence[Document], predicted: Sequence[Document], schema: Schema) -> dict[str, Any]:
    """The part of a result that tables and comparisons are made from."""
    found = evaluate(gold, predicted, schema)
    relations = found.relations.to_dict() if found.relations else None
    counts = asdict(document_counts(gold, predicted, schema))
    return {
        "test": asdict(found.entities.micro),
        "test_macro_f1": found.entities.macro.f1,
        "relations": relations and {kind: _averages(relations[kind]) for kind in relations},
        "documents": {kind: [*map(list, rows)] for kind, rows in counts.items() if rows is not None},
    }


def _averages(scores: dict[str, Any]) -> dict[str, Any]:
    return {average: scores[average] for average in ("micro", "macro")}
