"""Exact scorers on documents: entities by boundaries and label, relations by boundaries (RE) and strictly (RE+)."""

from __future__ import annotations

from spanwise.metrics.evaluation import Evaluation, evaluate
from spanwise.metrics.relations import RelationScores, score_relations
from spanwise.metrics.scores import Average, Score, Scores
from spanwise.metrics.strict import score_entities

__all__ = [
    "Average",
    "Evaluation",
    "RelationScores",
    "Score",
    "Scores",
    "evaluate",
    "score_entities",
    "score_relations",
]
