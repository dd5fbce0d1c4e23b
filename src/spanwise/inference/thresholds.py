"""Thresholds as they are typed."""

from __future__ import annotations

from collections.abc import Iterable

from spanwise.errors import InputError
from spanwise.schema import Schema


def parse_thresholds(
    everywhere: float | None, per_label: Iterable[str], default: float, schema: Schema
) -> dict[str, float]:
    """One threshold per entity type, from a common one (else the default) and `LABEL=VALUE` exceptions."""
    thresholds = dict.fromkeys(schema.entity_names, default if everywhere is None else everywhere)
    for assignment in per_label:
        label, equals, value = assignment.rpartition("=")
        try:
            thresholds[label] = float(value if equals else "")
        except ValueError:
            raise InputError(f"a label threshold has the form LABEL=0.8, not {assignment!r}.") from None
    return thresholds
