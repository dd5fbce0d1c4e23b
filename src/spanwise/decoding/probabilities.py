"""Logits to probabilities."""

from __future__ import annotations

import numpy as np

from spanwise.seam.batch import Floats


def scaled(logits: Floats, temperature: float) -> Floats:
    """Logits divided by the temperature: above 1, probabilities become less certain; their order stays."""
    if temperature == 1:
        return logits
    found: Floats = logits / temperature
    return found


def sigmoid(logits: Floats) -> Floats:
    """1 / (1 + e^-x), without overflow."""
    small = np.exp(-np.abs(logits))
    found: Floats = np.where(logits >= 0, 1 / (1 + small), small / (1 + small)).astype(np.float32, copy=False)
    return found


def softmax(logits: Floats) -> Floats:
    """Softmax over the last axis; -inf gets probability 0."""
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    found: Floats = powers / powers.sum(-1, keepdims=True)
    return found
