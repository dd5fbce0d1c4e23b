"""Counts in words."""

from __future__ import annotations

import pytest

from spanwise.errors import FormatError
from spanwise.formats import Report
from spanwise.plural import counted


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ("document",), "0 documents"),
        (1, ("document",), "1 document"),
        (2000, ("document",), "2,000 documents"),
        (1, ("entity", "entities"), "1 entity"),
        (3, ("entity is", "entities are"), "3 entities are"),
    ],
)
def test_a_count_takes_the_form_of_its_number(number: int, words: tuple[str, ...], text: str) -> None:
    assert counted(number, *words) == text


def test_one_bad_record_is_not_called_the_first() -> None:
    report = Report()
    report.add_bad(FormatError("no JSON."))
    assert report.sentences() == ["skipped 1 bad record:", "  no JSON."]
    report.add_bad(FormatError("no text."))
    assert report.sentences()[0] == "skipped 2 bad records, the first ones:"
