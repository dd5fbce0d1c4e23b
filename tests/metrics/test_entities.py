"""Entity scores by hand: what counts as correct, and what is refused."""

from __future__ import annotations

import pytest

from spanwise.document import Document, Entity, Offsets
from spanwise.errors import InputError
from spanwise.metrics import evaluate, score_boundaries, score_entities

TEXT = "The University of Brenford opened a clinic in Halden."
BRENFORD, UNIVERSITY, HALDEN = (18, 26), (4, 26), (46, 52)


def marked(*entities: tuple[tuple[int, int], str], text: str = TEXT) -> Document:
    return Document(text, entities=tuple(Entity(start, end, label) for (start, end), label in entities))


def test_scores_computed_by_hand():
    gold = marked((UNIVERSITY, "ORG"), (BRENFORD, "PLACE"), (HALDEN, "PLACE"))
    predicted = marked((UNIVERSITY, "ORG"), (BRENFORD, "PLACE"), ((36, 42), "PLACE"), ((0, 3), "PERSON"))
    scores = score_entities([gold], [predicted])
    assert scores.to_dict() == {
        "micro": {"precision": 2 / 4, "recall": 2 / 3, "f1": 4 / 7, "gold": 3, "predicted": 4, "correct": 2},
        "macro": {"precision": (1 + 1 / 2) / 2, "recall": (1 + 1 / 2) / 2, "f1": (1 + 1 / 2) / 2},
        "labels": {
            "ORG": {"precision": 1.0, "recall": 1.0, "f1": 1.0, "gold": 1, "predicted": 1, "correct": 1},
            "PERSON": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "gold": 0, "predicted": 1, "correct": 0},
            "PLACE": {"precision": 0.5, "recall": 0.5, "f1": 0.5, "gold": 2, "predicted": 2, "correct": 1},
        },
    }


def test_boundaries_and_label_must_both_be_right():
    gold = [marked((BRENFORD, "PLACE"))]
    assert score_entities(gold, [marked((BRENFORD, "ORG"))]).micro.correct == 0
    assert score_entities(gold, [marked(((18, 25), "PLACE"))]).micro.correct == 0
    assert score_entities(gold, [marked((BRENFORD, "PLACE"))]).micro.f1 == 1.0


def test_a_duplicate_counts_once():
    gold = marked((BRENFORD, "PLACE"), (BRENFORD, "PLACE"))
    predicted = marked((BRENFORD, "PLACE"), (BRENFORD, "PLACE"), (BRENFORD, "PLACE"))
    micro = score_entities([gold], [predicted]).micro
    assert (micro.gold, micro.predicted, micro.correct) == (1, 1, 1)


def test_one_span_may_carry_two_labels():
    gold = marked((BRENFORD, "PLACE"), (BRENFORD, "CITY"))
    scores = score_entities([gold], [marked((BRENFORD, "CITY"))])
    assert (scores.micro.gold, scores.micro.correct) == (2, 1)
    assert scores.labels["CITY"].f1 == 1.0


def test_the_same_span_in_another_document_is_another_entity():
    gold = [marked((BRENFORD, "PLACE")), marked()]
    predicted = [marked(), marked((BRENFORD, "PLACE"))]
    assert score_entities(gold, predicted).micro.correct == 0


def test_nothing_to_find_and_nothing_found_is_zero_not_an_error():
    scores = score_entities([marked()], [marked()])
    assert (scores.micro.f1, scores.macro.f1, dict(scores.labels)) == (0.0, 0.0, {})
    assert score_entities([], []).micro.f1 == 0.0


def headed(*entities: tuple[tuple[int, int], str, tuple[int, int] | None]) -> Document:
    marks = (Entity(*span, label, head=None if head is None else Offsets(*head)) for span, label, head in entities)
    return Document(TEXT, entities=tuple(marks))


def test_on_heads_an_entity_counts_by_its_head_region_and_label():
    gold = headed((UNIVERSITY, "ORG", (4, 14)), (HALDEN, "PLACE", None))
    wider = headed(((0, 26), "ORG", (4, 14)), ((43, 52), "PLACE", HALDEN))
    assert evaluate([gold], [wider]).entities.micro.correct == 0
    assert evaluate([gold], [wider], heads=True).entities.micro.f1 == 1.0
    mistyped = headed((UNIVERSITY, "PLACE", (4, 14)))
    assert evaluate([gold], [mistyped], heads=True).entities.micro.correct == 0
    elsewhere = headed((UNIVERSITY, "ORG", BRENFORD))
    assert evaluate([gold], [elsewhere], heads=True).entities.micro.correct == 0
    assert evaluate([gold], [elsewhere]).entities.micro.correct == 1


def test_on_heads_an_entity_without_a_mark_counts_by_its_own_bounds():
    gold = headed((UNIVERSITY, "ORG", (4, 14)))
    assert evaluate(iter([gold]), iter([marked(((4, 14), "ORG"))]), heads=True).entities.micro.f1 == 1.0
    assert evaluate([gold], [marked((UNIVERSITY, "ORG"))], heads=True).entities.micro.correct == 0


def test_on_heads_entities_that_share_head_and_label_count_once():
    gold = headed((UNIVERSITY, "ORG", (4, 14)), ((0, 26), "ORG", (4, 14)), ((0, 14), "PLACE", (4, 14)))
    scores = evaluate([gold], [headed((UNIVERSITY, "ORG", (4, 14)))], heads=True).entities
    assert (scores.micro.gold, scores.micro.predicted, scores.micro.correct) == (2, 1, 1)


def test_documents_may_be_iterators():
    gold = [marked((BRENFORD, "PLACE"))]
    assert score_entities(iter(gold), iter(gold)).micro.f1 == 1.0


def test_different_numbers_of_documents_are_refused():
    with pytest.raises(InputError, match=r"2 gold documents .* 1 predicted"):
        score_entities([marked(), marked()], [marked()])


def test_different_texts_are_refused_with_their_place():
    with pytest.raises(InputError, match="document 1 differ from character 3 on"):
        score_entities([marked(), marked(text="One two")], [marked(), marked(text="One-two")])
    with pytest.raises(InputError, match="differ from character 3 on"):
        score_entities([marked(text="One")], [marked(text="One two")])


def test_boundaries_count_whatever_the_label():
    gold = [marked((UNIVERSITY, "ORG"), (BRENFORD, "PLACE"), (HALDEN, "PLACE")), marked((HALDEN, "PLACE"))]
    predicted = [marked((UNIVERSITY, "PLACE"), (BRENFORD, "PLACE"), ((46, 51), "PLACE"), ((0, 3), "ORG")), marked()]
    found = score_boundaries(gold, predicted)
    assert (found.gold, found.predicted, found.correct) == (4, 4, 2)
    assert (found.precision, found.recall, found.f1) == (1 / 2, 1 / 2, 1 / 2)
    assert score_entities(gold, predicted).micro.correct == 1


def test_a_span_with_two_labels_has_its_boundaries_once():
    gold = marked((BRENFORD, "PLACE"), (BRENFORD, "CITY"), (HALDEN, "CITY"))
    found = score_boundaries([gold], [marked((BRENFORD, "ORG"), (BRENFORD, "PERSON"))])
    assert (found.gold, found.predicted, found.correct) == (2, 1, 1)


def test_the_same_boundaries_in_another_document_are_others():
    assert score_boundaries([marked((BRENFORD, "PLACE")), marked()], [marked(), marked((BRENFORD, "PLACE"))]).f1 == 0


def test_an_evaluation_holds_the_boundaries_beside_the_entities():
    gold, predicted = [marked((UNIVERSITY, "ORG"))], [marked((UNIVERSITY, "PLACE"))]
    found = evaluate(iter(gold), iter(predicted))
    assert found.boundaries == score_boundaries(gold, predicted)
    assert (found.entities.micro.f1, found.boundaries.f1, found.relations) == (0.0, 1.0, None)
    assert found.to_dict()["boundaries"] == {
        "precision": 1.0,
        "recall": 1.0,
        "f1": 1.0,
        "gold": 1,
        "predicted": 1,
        "correct": 1,
    }


def test_on_heads_the_boundaries_are_those_of_the_heads():
    gold, wider = headed((UNIVERSITY, "ORG", (4, 14))), headed(((0, 26), "PLACE", (4, 14)))
    assert evaluate([gold], [wider]).boundaries.correct == 0
    assert evaluate([gold], [wider], heads=True).boundaries.f1 == 1.0


def test_boundaries_of_different_texts_are_refused():
    with pytest.raises(InputError, match="document 0 differ from character 3 on"):
        score_boundaries([marked(text="One two")], [marked(text="One-two")])
