"""Calibration error by hand, and temperatures that are known because the labels were drawn with them."""

from __future__ import annotations

import numpy as np
import pytest

from spanwise.decoding.probabilities import scaled, sigmoid, softmax
from spanwise.evaluation.calibration import (
    TEMPERATURES,
    at_temperature,
    calibration_error,
    fit_temperature,
    negative_log_likelihood,
    reason_without_fit,
)
from spanwise.evaluation.candidates import Doubles

VARIED = np.random.default_rng(0).random((len(TEMPERATURES), 60))


def test_calibration_error_of_two_bins_by_hand() -> None:
    scores = np.array([0.82, 0.88, 0.84, 0.86, 0.31, 1.0])
    correct = np.array([True, True, False, True, False, True])
    # bin 0.8-0.9: 4 predictions, mean score 0.85, 3 correct: |0.75 - 0.85| = 0.1; 0.3-0.4: 1, |0 - 0.31|; 0.9-1: 1, 0
    assert calibration_error(scores, correct) == pytest.approx((4 * 0.1 + 1 * 0.31 + 0) / 6)


def test_without_predictions_there_is_no_calibration_error() -> None:
    assert calibration_error(np.zeros(0), np.zeros(0, np.bool_)) is None


def test_likelihood_of_sure_and_wrong_predictions_is_finite() -> None:
    assert np.isfinite(negative_log_likelihood(np.array([1.0, 0.0]), np.array([False, True])))


@pytest.mark.parametrize("known", [0.5, 1.0, 1.7, 3.0])
def test_the_temperature_of_drawn_labels_is_recovered(known: float) -> None:
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 4, 40_000)
    correct = rng.random(len(logits)) < 1 / (1 + np.exp(-logits / known))
    scores = np.stack([1 / (1 + np.exp(-logits / temperature)) for temperature in TEMPERATURES])
    assert fit_temperature(scores, correct) == pytest.approx(known, rel=0.05)


@pytest.mark.parametrize("known", [0.6, 2.0])
def test_the_temperature_of_drawn_classes_is_recovered_from_the_predicted_ones(known: float) -> None:
    rng = np.random.default_rng(2)
    logits = rng.normal(0, 3, (40_000, 5)).astype(np.float32)
    powers = np.exp(logits / known)
    shares = (powers / powers.sum(1, keepdims=True)).cumsum(1)
    drawn = (rng.random((len(logits), 1)) > shares).sum(1)
    correct = logits.argmax(1) == drawn
    scores = np.stack([softmax(scaled(logits, t)).max(1) for t in TEMPERATURES.tolist()]).astype(np.float64)
    assert fit_temperature(scores, correct) == pytest.approx(known, rel=0.05)


@pytest.mark.parametrize(
    ("scores", "right", "reason"),
    [
        (VARIED[:, :60], 0, "all predictions are wrong"),
        (VARIED[:, :60], 60, "all predictions are right"),
        (VARIED[:, :49], 20, "fewer than 50 predictions"),
        (VARIED[:, :0], 0, "fewer than 50 predictions"),
        (np.full((len(TEMPERATURES), 60), 0.7), 30, "the decoder's scores do not depend on the temperature"),
        (VARIED[:, :60], 30, None),
    ],
)
def test_predictions_that_determine_no_temperature_have_a_reason(
    scores: Doubles, right: int, reason: str | None
) -> None:
    correct = np.arange(scores.shape[1]) < right
    assert reason_without_fit(scores, correct) == reason
    assert (fit_temperature(scores, correct) is None) == (reason is not None)


@pytest.mark.parametrize("probability", [0.0, 0.1, 0.4, 0.5, 0.9])
def test_a_threshold_at_a_temperature_keeps_what_it_kept(probability: float) -> None:
    logits = np.linspace(-6, 6, 2_001, dtype=np.float32)
    for temperature in (0.3, 2.5):
        threshold = at_temperature(probability, temperature)
        clear = np.abs(sigmoid(logits) - probability) > 1e-4
        kept = sigmoid(scaled(logits, temperature)) >= threshold
        assert np.array_equal(kept[clear], (sigmoid(logits) >= probability)[clear])
    assert at_temperature(probability, 1.0) == pytest.approx(probability)
