"""A model's scores on labelled documents."""

from __future__ import annotations

from spanwise.evaluation.scoring import evaluate, predictions, unreachable

__all__ = ["evaluate", "predictions", "unreachable"]
