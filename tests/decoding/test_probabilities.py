"""Sigmoid and softmax in numpy: as in plain arithmetic, and without overflow."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.decoding.probabilities import sigmoid, softmax

numbers = st.lists(st.floats(-60, 60, width=32), min_size=1, max_size=6)


@given(numbers)
def test_sigmoid_is_that_of_plain_arithmetic(scores: list[float]) -> None:
    found = sigmoid(np.array(scores, np.float32))
    assert found.dtype == np.float32
    assert found.tolist() == pytest.approx([1 / (1 + math.exp(-score)) for score in scores], rel=1e-5, abs=1e-30)


@given(numbers)
def test_softmax_is_that_of_plain_arithmetic(scores: list[float]) -> None:
    powers = [math.exp(score) for score in scores]
    found = softmax(np.array([scores], np.float32))[0]
    assert found.tolist() == pytest.approx([power / sum(powers) for power in powers], rel=1e-4, abs=1e-30)


def test_scores_of_thousands_do_not_overflow() -> None:
    scores = np.array([-5000.0, 0.0, 5000.0], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sigmoid(scores).tolist() == [0.0, 0.5, 1.0]
        assert softmax(scores).tolist() == [0.0, 0.0, 1.0]
        assert softmax(np.array([-np.inf, 3.0, 3.0], np.float32)).tolist() == [0.0, 0.5, 0.5]
