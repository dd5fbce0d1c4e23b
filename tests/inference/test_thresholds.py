"""Thresholds as they are typed."""

from __future__ import annotations

import pytest

from spanwise.errors import InputError
from spanwise.inference.thresholds import parse_thresholds

OWN = {"Person": 0.1, "a=b": 0.3}


def test_a_threshold_per_label_is_an_exception_to_the_common_one() -> None:
    assert parse_thresholds(0.5, ["Person=0.8"], OWN) == {"Person": 0.8, "a=b": 0.5}
    assert parse_thresholds(None, ["a=b=0.25"], OWN) == {"Person": 0.1, "a=b": 0.25}


@pytest.mark.parametrize("typed", ["Person", "Person=", "Person=high", "0.8", "Person 0.8"])
def test_a_threshold_that_is_typed_wrongly_is_refused(typed: str) -> None:
    with pytest.raises(InputError, match=r"a label threshold has the form LABEL=0\.8, not"):
        parse_thresholds(0.5, [typed], OWN)
