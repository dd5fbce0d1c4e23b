"""A model's scores on labeled documents, and the thresholds and temperatures that are best on them."""

from __future__ import annotations

from spanwise.evaluation.scoring import evaluate, predictions, unreachable_notices
from spanwise.evaluation.thresholds import Objective
from spanwise.evaluation.tuning import Effect, TuningResult, tune, tuning_effects

__all__ = [
    "Effect",
    "Objective",
    "TuningResult",
    "evaluate",
    "predictions",
    "tune",
    "tuning_effects",
    "unreachable_notices",
]
