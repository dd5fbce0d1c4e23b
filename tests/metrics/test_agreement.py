"""Agreement of annotators: the published example of alpha, a transcription of its definition, and worked F1."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.document import Document, Entity, Relation
from spanwise.errors import InputError
from spanwise.metrics.agreement import find_disagreements, measure_agreement
from spanwise.metrics.alpha import NominalAlpha

# Krippendorff 2011, section C: four observers, twelve units, missing values; nominal alpha is 0.743.
PUBLISHED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def by_definition(units: list[list[object]]) -> float | None:
    """Alpha from the coincidence matrix, step by step."""
    coincidences: defaultdict[tuple[object, object], float] = defaultdict(float)
    for values in units:
        if len(values) > 1:
            for one, other in permutations(values, 2):
                coincidences[one, other] += 1 / (len(values) - 1)
    totals: defaultdict[object, float] = defaultdict(float)
    for (one, _), count in coincidences.items():
        totals[one] += count
    n = sum(totals.values())
    observed = sum(count for (one, other), count in coincidences.items() if one != other)
    expected = sum(totals[one] * totals[other] for one, other in permutations(totals, 2)) / (n - 1) if n else 0
    return 1 - observed / expected if expected else None


def alpha_of(units: list[list[object]]) -> float | None:
    alpha = NominalAlpha()
    for values in units:
        alpha.add(values)
    return alpha.alpha()


def test_the_published_example() -> None:
    units = [[value for value in column if value is not None] for column in zip(*PUBLISHED, strict=True)]
    assert alpha_of(units) == pytest.approx(0.743, abs=5e-4)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=8))
def test_alpha_is_that_of_the_definition(units: list[list[object]]) -> None:
    assert alpha_of(units) == pytest.approx(by_definition(units))


def test_alpha_of_equal_values_is_undefined() -> None:
    assert alpha_of([["O", "O"], ["O", "O"]]) is None
    assert alpha_of([]) is None


TEXT = "Ann Lee left Halden for Osaka"
ANN = Document(TEXT, entities=(Entity(0, 7, "PER"), Entity(13, 19, "LOC")), relations=(Relation(0, 1, "left"),))
BO = Document(TEXT, entities=(Entity(0, 3, "PER"), Entity(13, 19, "LOC"), Entity(24, 29, "LOC")))


def test_strict_and_partial_f1_of_a_pair() -> None:
    found = measure_agreement([{"ann": ANN, "bo": BO}])
    (pair,) = found.pairs
    assert (pair.annotators, pair.texts, pair.entities) == (("ann", "bo"), 1, (2, 3))
    assert pair.strict_f1 == pytest.approx(2 / 5)  # one of two and one of three
    assert pair.partial_f1 == pytest.approx(4 / 5)  # all but the one in Osaka
    assert pair.relations_f1 == 0
    assert (found.labels["PER"].strict_f1, found.labels["PER"].partial_f1) == (0, 1)
    assert found.labels["LOC"].strict_f1 == pytest.approx(2 / 3)


def test_alpha_is_over_words() -> None:
    found = measure_agreement([{"ann": ANN, "bo": BO}])  # the words: Ann Lee left Halden for Osaka
    person = [[True, True], [True, False], *[[False, False]] * 4]
    assert found.labels["PER"].alpha == pytest.approx(by_definition(person))
    values = [["P", "P"], ["P", "O"], ["O", "O"], ["L", "L"], ["O", "O"], ["O", "L"]]
    assert found.overall.alpha == pytest.approx(by_definition(values))


def test_annotators_may_have_marked_different_texts() -> None:
    other = Document("Osaka", entities=(Entity(0, 5, "LOC"),))
    found = measure_agreement([{"ann": ANN, "bo": ANN}, {"bo": other, "cy": other}, {"ann": BO}])
    assert [(pair.annotators, pair.texts, pair.strict_f1) for pair in found.pairs] == [
        (("ann", "bo"), 1, 1), (("bo", "cy"), 1, 1),
    ]  # fmt: skip
    assert (found.texts, found.annotators, found.overall.alpha) == (2, ("ann", "bo", "cy"), 1)


def test_texts_of_one_annotator_have_no_agreement() -> None:
    with pytest.raises(InputError, match="no text has the annotations of two annotators"):
        measure_agreement([{"ann": ANN}])


def test_disagreements_show_who_marked_what() -> None:
    same = {"ann": ANN, "bo": ANN}
    (document,) = find_disagreements([same, {"ann": ANN, "bo": BO}])
    assert [(document.text_of(e), e.label, e.score) for e in document.entities] == [
        ("Ann Lee", "PER", 0.5), ("Halden", "LOC", 1), ("Ann", "PER", 0.5), ("Osaka", "LOC", 0.5),
    ]  # fmt: skip
    assert document.relations == (Relation(0, 1, "left", 0.5),)
    assert document.metadata["annotators"] == {
        "ann": {"entities": [0, 1], "relations": [0]},
        "bo": {"entities": [1, 2, 3], "relations": []},
    }


SPANS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 4), st.sampled_from("AB")).map(
        lambda span: Entity(span[0], span[0] + span[1], span[2])
    ),
    max_size=5,
)


@settings(max_examples=50, deadline=None)
@given(SPANS, SPANS)
def test_agreement_is_symmetric_and_partial_is_no_less_than_strict(one: list[Entity], other: list[Entity]) -> None:
    documents = [Document("a b c d e f g", entities=tuple(entities)) for entities in (one, other)]
    forth, back = (measure_agreement([dict(zip("xy", pair, strict=True))]) for pair in (documents, reversed(documents)))
    assert forth.labels == back.labels
    assert forth.pairs[0].partial_f1 >= forth.pairs[0].strict_f1
    overlapping = [
        any(a.start < b.end and b.start < a.end and a.label == b.label for b in theirs)
        for mine, theirs in ((set(one), set(other)), (set(other), set(one)))
        for a in mine
    ]
    assert forth.pairs[0].partial_f1 == pytest.approx(sum(overlapping) / len(overlapping) if overlapping else 0)
