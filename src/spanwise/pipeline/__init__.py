"""From documents to batches, through a runner, and back to documents; the model folder."""

from __future__ import annotations

MODEL_CARD = "README.md"  # of a model folder
