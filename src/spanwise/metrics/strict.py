"""Strict scores of entities: boundaries and label must both be correct. Nested entities count like any other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spanwise.document import Document
from spanwise.metrics.pairing import pair_documents
from spanwise.metrics.scores import Score, Scores, count_matches


def score_entities(gold: Iterable[Document], predicted: Iterable[Document]) -> Scores:
    """Strict scores by (start, end, label); duplicates count once, macro averages over the types that occur in gold.

    Documents are paired by position; if their numbers or texts differ, an InputError is raised.
    """
    return count_matches((_items(one), _items(other)) for one, other in pair_documents(gold, predicted))


def score_boundaries(gold: Iterable[Document], predicted: Iterable[Document]) -> Score:
    """Scores by (start, end) alone, without the label; for event triggers, the task is called identification."""
    pairs = pair_documents(gold, predicted)
    return count_matches((_unlabeled(one), _unlabeled(other)) for one, other in pairs).micro


def _unlabeled(document: Document) -> Iterator[tuple[str, tuple[int, int]]]:
    return (("", (entity.start, entity.end)) for entity in document.entities)


def _items(document: Document) -> Iterator[tuple[str, tuple[int, int]]]:
    return ((entity.label, (entity.start, entity.end)) for entity in document.entities)
