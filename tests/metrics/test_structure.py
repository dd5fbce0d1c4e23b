"""Scores by width and by nesting, on documents small enough to count by hand."""

from __future__ import annotations

from spanwise.document import Document, Entity
from spanwise.metrics import evaluate, score_by_nesting, score_by_width
from spanwise.metrics.scores import Score

WORDS = list("abcdefghijklm")


def document(*entities: tuple[int, int, str]) -> Document:
    return Document.from_words(WORDS, list(entities))


def counts(score: Score) -> tuple[int, int, int]:
    return score.gold, score.predicted, score.correct


def test_an_entity_counts_in_the_group_of_its_own_width() -> None:
    gold = [document((0, 1, "X"), (2, 4, "X"), (1, 13, "Y")), document((0, 2, "X"))]
    found = [document((0, 1, "X"), (2, 5, "X"), (1, 13, "Y")), document((0, 2, "Y"), (0, 11, "Y"))]
    scores = score_by_width(gold, found)
    assert {group: counts(score) for group, score in scores.items()} == {
        "1": (1, 1, 1),
        "2": (2, 1, 0),
        "3": (0, 1, 0),
        "11+": (1, 2, 1),
    }
    assert list(scores) == ["1", "2", "3", "11+"]  # by width, not by name


def test_what_falls_on_no_word_border_has_a_group_of_its_own() -> None:
    gold = Document.from_words(["ab", "cd"], [])
    half = gold.with_annotations([Entity(0, 1, "X")])
    assert {group: counts(score) for group, score in score_by_width([half], [gold]).items()} == {"?": (1, 0, 0)}


def test_nesting_is_grouped_by_the_gold_entities_around_and_inside() -> None:
    # d e f in c…h in b…k; l alone. The paper's example: Nested is inside one that covers, Covering around one inside.
    gold = [document((3, 6, "X"), (2, 8, "X"), (1, 11, "X"), (11, 12, "X"))]
    groups = {
        (3, 6): "nested",
        (2, 8): "both",
        (1, 11): "covering",
        (11, 12): "flat",
        (4, 5): "nested",  # false, inside one that covers others
        (3, 7): "both",  # false, inside c…h, around d e f
        (0, 13): "covering",
        (0, 1): "flat",
        (10, 12): "flat",  # crosses, but neither lies inside the other
    }
    for (start, end), wanted in groups.items():
        scores = score_by_nesting(gold, [document((start, end, "Z"))])
        assert [group for group, score in scores.items() if score.predicted] == [wanted], (start, end)
    scores = score_by_nesting(gold, gold)
    assert {group: counts(score) for group, score in scores.items()} == {
        "flat": (1, 1, 1),
        "nested": (1, 1, 1),
        "covering": (1, 1, 1),
        "both": (1, 1, 1),
    }


def test_a_lone_entity_around_nothing_makes_no_nesting() -> None:
    gold = [document((2, 8, "X"))]
    scores = score_by_nesting(gold, [document((3, 5, "X"), (1, 9, "X"))])
    assert {group: counts(score) for group, score in scores.items()} == {"flat": (1, 2, 0)}


def test_groups_sum_up_to_the_whole() -> None:
    gold = [document((3, 6, "X"), (2, 8, "Y"), (2, 8, "X"), (11, 12, "X")), document((0, 13, "Y"))]
    found = [document((3, 6, "X"), (2, 8, "X"), (4, 5, "Y")), document((0, 13, "Y"), (0, 2, "X"))]
    result = evaluate(gold, found)
    for groups in (result.widths, result.nesting):
        summed = [sum(parts) for parts in zip(*map(counts, groups.values()), strict=True)]
        assert tuple(summed) == counts(result.entities.micro)
