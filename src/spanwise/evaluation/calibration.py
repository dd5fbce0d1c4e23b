"""How well probabilities agree with the share of correct predictions, and the temperature that improves it.

Guo et al. 2017, "On Calibration of Modern Neural Networks": expected calibration error and temperature scaling.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spanwise.evaluation.candidates import Doubles

BINS = 10  # of equal width
TEMPERATURES: Doubles = 2.0 ** (np.arange(-6, 10) / 3)  # 0.25 to 8, with 1 among them
MIN_PREDICTIONS = 50  # that a temperature is fitted to
SMALLEST = 1e-7  # probability of an outcome; float32 probabilities can be 0 or 1


def calibration_error(scores: Doubles, correct: NDArray[np.bool_]) -> float | None:
    """Expected calibration error: mean |accuracy - mean score| of the bins, weighted by size; None without scores."""
    if not len(scores):
        return None
    bins = np.minimum((scores * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, correct, BINS) - np.bincount(bins, scores, BINS)
    return float(np.abs(gaps).sum() / len(scores))


def negative_log_likelihood(scores: Doubles, correct: NDArray[np.bool_]) -> Doubles:
    """Mean over the last axis of -log of the probability of the observed outcome. [..., K] -> [...]"""
    likelihood = np.where(correct, scores, 1 - scores)
    found: Doubles = -np.log(np.maximum(likelihood, SMALLEST)).mean(-1)
    return found


def reason_without_fit(scores: Doubles, correct: NDArray[np.bool_]) -> str | None:
    """Why the predictions do not determine a temperature, or None if they do. `scores` as in `fit_temperature`."""
    if len(correct) and not np.ptp(scores, axis=0).any():
        return "the decoder's scores do not depend on the temperature"
    if len(correct) < MIN_PREDICTIONS:
        return f"fewer than {MIN_PREDICTIONS} predictions"
    if correct.all() or not correct.any():
        return f"all predictions are {'right' if correct.all() else 'wrong'}"
    return None


def fit_temperature(scores: Doubles, correct: NDArray[np.bool_]) -> float | None:
    """The temperature with the lowest negative log-likelihood; None if the predictions do not determine one.

    `scores` holds the probabilities at each of TEMPERATURES, [S, K]. Between these, a parabola over log T is fitted.
    """
    if reason_without_fit(scores, correct):
        return None
    losses = negative_log_likelihood(scores, correct)
    best = int(losses.argmin())
    if best in (0, len(losses) - 1):
        return float(TEMPERATURES[best])
    before, lowest, after = losses[best - 1 : best + 2]
    shift = 0.5 * (before - after) / (before - 2 * lowest + after)  # of the vertex, in steps of the grid
    return round(float(TEMPERATURES[best] * (TEMPERATURES[1] / TEMPERATURES[0]) ** shift), 4)


def at_temperature(probability: float, temperature: float) -> float:
    """What a sigmoid gives at the temperature where it gives the probability at 1."""
    if probability in (0.0, 1.0):
        return probability
    return float(1 / (1 + (1 / probability - 1) ** (1 / temperature)))
