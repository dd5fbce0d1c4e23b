"""Two scores of relations: RE requires the label and the bounds of both entities, RE+ also both entity labels."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from spanwise.document import Document, Entity
from spanwise.metrics.pairing import pair_documents
from spanwise.metrics.scores import Scores, count_matches


@dataclass(frozen=True, slots=True)
class RelationScores:
    """`boundaries` is RE and `strict` is RE+ in the literature."""

    boundaries: Scores
    strict: Scores

    def to_dict(self) -> dict[str, Any]:
        return {"boundaries": self.boundaries.to_dict(), "strict": self.strict.to_dict()}


def score_relations(
    gold: Iterable[Document], predicted: Iterable[Document], *, symmetric: Collection[str] = ()
) -> RelationScores:
    """RE and RE+ of documents paired by position. A symmetric relation counts once, in either direction.

    Duplicates count once. Macro averages over the relation types that occur in gold.
    """
    pairs = pair_documents(gold, predicted)

    def scores(strict: bool) -> Scores:
        return count_matches(
            (relation_items(one, symmetric, strict), relation_items(other, symmetric, strict)) for one, other in pairs
        )

    return RelationScores(boundaries=scores(strict=False), strict=scores(strict=True))


def relation_items(document: Document, symmetric: Collection[str], strict: bool) -> Iterator[tuple[str, Hashable]]:
    """What must be equal for a relation to be correct, one item per relation, in order."""
    for relation in document.relations:
        ends = [_end(document.entities[index], strict) for index in (relation.head, relation.tail)]
        yield relation.label, tuple(sorted(ends) if relation.label in symmetric else ends)


def _end(entity: Entity, strict: bool) -> tuple[int, int, str]:
    return entity.start, entity.end, entity.label if strict else ""
