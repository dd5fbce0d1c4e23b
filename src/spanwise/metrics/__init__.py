"""Exact-match scores: entities by boundaries and label, relations by boundaries (RE) and with entity labels (RE+)."""

from __future__ import annotations

from spanwise.metrics.agreement import Agreement, find_disagreements, measure_agreement
from spanwise.metrics.evaluation import Evaluation, evaluate
from spanwise.metrics.relations import RelationScores, score_relations
from spanwise.metrics.scores import Average, Score, Scores
from spanwise.metrics.significance import (
    DocumentCounts,
    Significance,
    bootstrap_difference,
    document_counts,
    randomization_test,
)
from spanwise.metrics.strict import score_boundaries, score_entities
from spanwise.metrics.structure import score_by_nesting, score_by_width

__all__ = [
    "Agreement",
    "Average",
    "DocumentCounts",
    "Evaluation",
    "RelationScores",
    "Score",
    "Scores",
    "Significance",
    "bootstrap_difference",
    "document_counts",
    "evaluate",
    "find_disagreements",
    "measure_agreement",
    "randomization_test",
    "score_boundaries",
    "score_by_nesting",
    "score_by_width",
    "score_entities",
    "score_relations",
]
