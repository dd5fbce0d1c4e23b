"""The causes of relation errors, one at a time."""

from __future__ import annotations

import pytest
from brackets import document

from spanwise.analysis import analyze
from spanwise.schema import RelationType, Schema

TEXT = "[Ada:PER] of [Orbit:ORG] in [Kell:LOC]"
SCHEMA = Schema((), (RelationType("near", symmetric=True), RelationType("of"), RelationType("in")))
OWN = ("type", "direction", "missing", "spurious")


def own_errors(gold, predicted) -> dict[str, int]:
    """The relation's own errors that occur; both arguments are always right."""
    one, other = (document(TEXT, [(*row, 1.0) for row in rows]) for rows in (gold, predicted))
    errors = analyze([one], {"x": [other]}, schema=SCHEMA, samples=2).systems["x"].relations["RE"].errors
    assert errors.inherited == 0
    return {name: getattr(errors, name) for name in OWN if getattr(errors, name)}


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ([(0, 1, "of")], [(0, 1, "in")], {"type": 1}),
        ([(0, 1, "of")], [(1, 0, "of")], {"direction": 1}),
        ([(0, 1, "of")], [], {"missing": 1}),
        ([], [(0, 1, "of")], {"spurious": 1}),
        ([(0, 1, "of")], [(1, 0, "in")], {"missing": 1, "spurious": 1}),  # neither type nor direction alone
        ([(0, 1, "of")], [(0, 2, "of")], {"missing": 1, "spurious": 1}),
        ([(0, 1, "near")], [(1, 0, "of")], {"type": 1}),  # a symmetric relation has no direction
        ([(0, 1, "of")], [(0, 1, "in"), (1, 0, "of")], {"type": 1, "spurious": 1}),  # one to one, type first
        ([(0, 1, "of"), (1, 0, "in")], [(1, 0, "of")], {"type": 1, "missing": 1}),
        ([(0, 1, "of"), (1, 2, "in")], [(1, 0, "of"), (2, 1, "in")], {"direction": 2}),
        ([(0, 0, "of")], [(0, 0, "in")], {"type": 1}),
        ([(0, 1, "of")], [(0, 1, "of"), (0, 1, "of")], {}),
    ],
)
def test_own_errors_are_paired(gold, predicted, expected):
    assert own_errors(gold, predicted) == expected


def test_a_wrong_argument_makes_both_sides_inherit():
    gold = document(TEXT, [(0, 1, "of", 1.0)])
    silent = gold.with_annotations()
    wider = document("[Ada:PER] of [Orbit in:ORG] Kell", [(0, 1, "of", 1.0)])
    for found, expected in ((silent, (1, 0)), (wider, (1, 1))):
        errors = analyze([gold], {"x": [found]}, samples=2).systems["x"].relations["RE"].errors
        assert (errors.inherited_missing, errors.inherited_spurious) == expected
        assert errors.own == 0
