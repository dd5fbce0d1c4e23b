"""Word shapes: what an uncased encoder cannot see of a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.text.shapes import SHAPES, word_shape


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("rain", "lower"),
        ("don't", "lower"),
        ("well-known", "lower"),
        ("Mara", "title"),
        ("O'neill", "title"),
        ("Élise", "title"),
        ("IBM", "upper"),
        ("U.S.", "upper"),
        ("AT&T", "upper"),
        ("A", "initial"),
        ("J.", "initial"),
        ("iPhone", "mixed"),
        ("McKay", "mixed"),
        ("1984", "number"),
        ("3.5", "number"),
        ("-7", "number"),
        ("٣٤", "number"),
        ("B2B", "alphanumeric"),
        ("il-2", "alphanumeric"),
        (".", "punctuation"),
        ("...", "punctuation"),
        ("🙂", "punctuation"),
        ("#rain", "handle"),
        ("@mara", "handle"),
        ("#", "punctuation"),
        ("https://example.org/A1", "link"),
        ("WWW.example.org", "link"),
        ("北", "uncased"),
        ("مرحبا", "uncased"),
    ],
)
def test_a_word_has_the_shape_it_is_written_in(word: str, shape: str) -> None:
    assert SHAPES[word_shape(word)] == shape


@given(st.text(min_size=1, max_size=12))
def test_every_word_has_one_of_the_shapes(word: str) -> None:
    assert 0 <= word_shape(word) < len(SHAPES)


def test_the_order_of_shapes_is_kept() -> None:
    """Trained models hold a vector per shape, by index."""
    first = ("lower", "title", "upper", "initial", "mixed", "number", "alphanumeric", "punctuation", "handle", "link")
    assert (*first, "uncased") == SHAPES
