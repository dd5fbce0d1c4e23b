"""Everything there is to score in a pair of document lists, in one object."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from spanwise.document import Document
from spanwise.metrics.relations import RelationScores, score_relations
from spanwise.metrics.scores import Score, Scores
from spanwise.metrics.strict import score_boundaries, score_entities
from spanwise.schema import Schema


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores of entities, also by their boundaries alone, and of relations where gold or prediction holds any."""

    entities: Scores
    boundaries: Score
    relations: RelationScores | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "entities": self.entities.to_dict(),
            "boundaries": asdict(self.boundaries),
            "relations": None if self.relations is None else self.relations.to_dict(),
        }


def evaluate(
    gold: Iterable[Document], predicted: Iterable[Document], schema: Schema | None = None, *, heads: bool = False
) -> Evaluation:
    """Score predicted documents against gold ones; the schema says which relations are symmetric.

    With `heads`, entities count by their head regions, as is usual on ACE; one that marks none by its own bounds.
    """
    wanted, found = list(gold), list(predicted)
    if heads:
        wanted, found = [d.narrowed_to_heads() for d in wanted], [d.narrowed_to_heads() for d in found]
    entities, boundaries = score_entities(wanted, found), score_boundaries(wanted, found)
    if not any(document.relations for document in (*wanted, *found)):
        return Evaluation(entities, boundaries)
    symmetric = {relation.name for relation in schema.relations if relation.symmetric} if schema else set()
    return Evaluation(entities, boundaries, score_relations(wanted, found, symmetric=symmetric))
