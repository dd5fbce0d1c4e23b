"""A model's scores on labeled documents."""

from __future__ import annotations

from spanwise.evaluation.scoring import evaluate, predictions, unreachable_notices

__all__ = ["evaluate", "predictions", "unreachable_notices"]
