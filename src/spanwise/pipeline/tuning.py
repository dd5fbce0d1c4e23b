"""What `spanwise tune` stores with a model: thresholds per label and temperatures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from spanwise.schema import Schema

Probability = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(ge=0.01, le=100)]


class Tuning(BaseModel):
    """Decisions chosen on labeled data; the defaults leave the model as it was trained."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    threshold: Probability | None = None  # of entity types without their own; None: the model's
    thresholds: Mapping[str, Probability] = Field(default_factory=dict)  # by entity type
    relation_threshold: Probability | None = None
    relation_thresholds: Mapping[str, Probability] = Field(default_factory=dict)
    temperature: Temperature = 1.0  # of entities
    relation_temperature: Temperature = 1.0

    def entity_thresholds(self, names: Iterable[str], default: float) -> dict[str, float]:
        """The threshold of each entity type."""
        return _by_name(names, self.thresholds, default if self.threshold is None else self.threshold)

    def relation_type_thresholds(self, names: Iterable[str], default: float) -> dict[str, float]:
        """The threshold of each relation type."""
        common = default if self.relation_threshold is None else self.relation_threshold
        return _by_name(names, self.relation_thresholds, common)

    def for_schema(self, schema: Schema) -> Tuning:
        """The same for other labels: thresholds of labels that the schema does not have are left out."""
        return self.model_copy(
            update={
                "thresholds": _known(self.thresholds, schema.entity_names),
                "relation_thresholds": _known(self.relation_thresholds, schema.relation_names),
            }
        )


def _by_name(names: Iterable[str], own: Mapping[str, float], common: float) -> dict[str, float]:
    return {name: own.get(name, common) for name in names}


def _known(own: Mapping[str, float], names: Iterable[str]) -> dict[str, float]:
    return {name: own[name] for name in names if name in own}
