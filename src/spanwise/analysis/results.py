"""The result of an analysis, as frozen data. All scores are fractions between 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from spanwise.analysis.bootstrap import Estimate, Macro
from spanwise.analysis.calibration import Calibration
from spanwise.analysis.comparison import Comparison
from spanwise.analysis.errors import Errors
from spanwise.analysis.relations import RelationErrors
from spanwise.analysis.suspicious import Suspicious
from spanwise.document import Document


@dataclass(frozen=True, slots=True)
class LabelScores:
    """Scores over all labels, their mean over the labels that occur in gold, and those of each label."""

    micro: Estimate
    macro: Macro
    labels: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class EntityScores:
    """Strict scores, and partial matches beside them.

    - strict: the same boundaries and label
    - overlap: the same label and at least one common character. Strict matches first, then the best overlap; one to
      one, so that no entity counts twice
    - boundaries: the same boundaries, without the label; a span with two labels counts once
    """

    strict: LabelScores
    overlap: LabelScores
    boundaries: Estimate


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Scores by the groups of an attribute, in their order. Their counts add up to those of all items."""

    key: str
    title: str
    groups: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class RelationScores:
    """The scores of relations by RE or RE+, their errors, and breakdowns by the attributes of the arguments."""

    scores: LabelScores
    errors: RelationErrors
    breakdowns: Mapping[str, Breakdown]


@dataclass(frozen=True, slots=True)
class SystemAnalysis:
    """All numbers of one system. `relations` holds "RE" and "RE+", and nothing if there are no relations."""

    name: str
    entities: EntityScores
    errors: Errors
    breakdowns: Mapping[str, Breakdown]
    relations: Mapping[str, RelationScores]
    calibration: Calibration | None
    relation_calibration: Calibration | None


@dataclass(frozen=True, slots=True)
class Analysis:
    """The comparison of one or more systems with gold. `comparison` is None for a single system."""

    documents: int
    sentences: int
    words: int
    gold_entities: int
    gold_relations: int
    labels: tuple[str, ...]
    relation_labels: tuple[str, ...]
    systems: Mapping[str, SystemAnalysis]
    suspicious: Suspicious
    comparison: Comparison | None
    notes: tuple[str, ...]
    samples: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """The analysis as plain JSON values. The documents to review are left out: they are a file of their own."""
        record: dict[str, Any] = _plain(self)
        del record["suspicious"]["documents"]
        return record


def _plain(value: Any) -> Any:
    if isinstance(value, Document):
        return value.to_dict()
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
