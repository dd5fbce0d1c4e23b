"""Thresholds as they are typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spanwise.errors import InputError


def parse_thresholds(everywhere: float | None, per_label: Iterable[str], own: Mapping[str, float]) -> dict[str, float]:
    """One threshold per entity type, from a common one (else the model's own) and `LABEL=VALUE` exceptions."""
    thresholds = dict(own) if everywhere is None else dict.fromkeys(own, everywhere)
    for assignment in per_label:
        label, equals, value = assignment.rpartition("=")
        try:
            thresholds[label] = float(value if equals else "")
        except ValueError:
            raise InputError(f"a label threshold has the form LABEL=0.8, not {assignment!r}.") from None
    return thresholds
