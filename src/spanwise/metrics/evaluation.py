"""All scores of predicted documents against gold documents, in one object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from spanwise.document import Document
from spanwise.metrics.relations import RelationScores, score_relations
from spanwise.metrics.scores import Score, Scores
from spanwise.metrics.strict import score_boundaries, score_entities
from spanwise.metrics.structure import score_by_nesting, score_by_width
from spanwise.schema import Schema
from spanwise.text.alignment import AlignedDocument, align


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores of entities (strict, by boundaries alone, by width and by nesting) and of relations.

    `relations` is None if neither gold nor predictions contain relations.
    """

    entities: Scores
    boundaries: Score
    widths: Mapping[str, Score]
    nesting: Mapping[str, Score]
    relations: RelationScores | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "entities": self.entities.to_dict(),
            "boundaries": asdict(self.boundaries),
            "widths": {group: asdict(score) for group, score in self.widths.items()},
            "nesting": {group: asdict(score) for group, score in self.nesting.items()},
            "relations": None if self.relations is None else self.relations.to_dict(),
        }


def evaluate(
    gold: Iterable[Document | AlignedDocument],
    predicted: Iterable[Document],
    schema: Schema | None = None,
    *,
    heads: bool = False,
) -> Evaluation:
    """Score predicted documents against gold ones; the schema says which relations are symmetric.

    With `heads`, entities are scored by their head regions, as is usual on ACE, or by their own bounds if they have
    none.
    """
    rows, found = [align(row) for row in gold], list(predicted)
    if heads:
        rows = [align(row.document.with_head_spans()) for row in rows]
        found = [document.with_head_spans() for document in found]
    wanted = [row.document for row in rows]
    relations = None
    if any(document.relations for document in (*wanted, *found)):
        symmetric = {relation.name for relation in schema.relations if relation.symmetric} if schema else set()
        relations = score_relations(wanted, found, symmetric=symmetric)
    return Evaluation(
        entities=score_entities(wanted, found),
        boundaries=score_boundaries(wanted, found),
        widths=score_by_width(rows, found),
        nesting=score_by_nesting(wanted, found),
        relations=relations,
    )
