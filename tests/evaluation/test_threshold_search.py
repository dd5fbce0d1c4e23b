"""The search for thresholds against trying every threshold, on random predictions that do not interact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.document import Document, Entity, Relation
from spanwise.errors import InputError
from spanwise.evaluation import Objective
from spanwise.evaluation.candidates import Candidates, entity_items, judged, strict_relation_items
from spanwise.evaluation.thresholds import MIN_GOLD, best_threshold, between, choose_thresholds

Row = tuple[float, bool]
rows = st.lists(st.tuples(st.floats(1 / 64, 1, width=32), st.booleans()), max_size=12)


def candidates(*labels: tuple[list[Row], int]) -> Candidates:
    """Predictions of each label as (score, correct), and how many gold items it has beside the correct ones."""
    flat = [(label, *row) for label, (found, _) in enumerate(labels) for row in found]
    numbers, scores, correct = zip(*flat, strict=True) if flat else ((), (), ())
    gold = [missed + sum(right for _, right in found) for found, missed in labels]
    return Candidates(
        np.array(numbers, np.int64), np.array(scores, np.float64), np.array(correct, np.bool_), np.array(gold, np.int64)
    )


def measured(found: list[Row], gold: int, threshold: float) -> tuple[float, float, float]:
    """Precision, recall and F1 by counting one by one."""
    kept = [right for score, right in found if score >= np.float32(threshold)]
    hits = sum(kept)
    return (
        hits / len(kept) if kept else 0.0,
        hits / gold if gold else 0.0,
        2 * hits / (gold + len(kept)) if gold + len(kept) else 0.0,
    )


def every_threshold(found: list[Row]) -> list[float]:
    return [0.01, 1.0, *(score for score, _ in found), *np.linspace(0.01, 1, 40).tolist()]


@given(rows, st.integers(1, 5), st.sampled_from([0.0, 0.3, 0.5]))
def test_no_other_threshold_has_a_higher_f1(found: list[Row], missed: int, default: float) -> None:
    gold = missed + sum(right for _, right in found)
    chosen = best_threshold(candidates((found, missed)), Objective(), default, 0.01)
    f1 = measured(found, gold, chosen)[2]
    assert f1 >= max(measured(found, gold, other)[2] for other in every_threshold(found)) - 1e-12
    if f1 <= measured(found, gold, default)[2]:
        assert chosen == default


@given(rows, st.integers(1, 5), st.sampled_from([0.3, 0.5, 0.8, 1.0]), st.sampled_from(["precision", "recall"]))
def test_a_required_value_is_met_with_the_highest_other(
    found: list[Row], missed: int, required: float, measure: str
) -> None:
    gold = missed + sum(right for _, right in found)
    objective = Objective(measure, required)  # type: ignore[arg-type]
    of, other = (0, 1) if measure == "precision" else (1, 0)
    scores = [measured(found, gold, threshold) for threshold in every_threshold(found)]
    possible = [score[other] for score in scores if score[of] >= required - 1e-9]
    chosen = best_threshold(candidates((found, missed)), objective, 0.5, 0.01)
    if not possible:
        assert chosen == 0.5
    else:
        score = measured(found, gold, chosen)
        assert score[of] >= required - 1e-9
        assert score[other] == pytest.approx(max(possible))


@given(st.floats(0, 1, width=32), st.floats(0, 1, width=32))
def test_a_threshold_between_two_scores_separates_them(one: float, other: float) -> None:
    low, high = sorted((one, other))
    threshold = np.float32(between(low, high))
    assert np.float32(high) >= threshold
    assert low == high or np.float32(low) < threshold


def test_a_threshold_has_no_more_digits_than_it_needs() -> None:
    assert between(0.2, 0.9) == 0.55
    assert between(0.9312, 0.9318) == 0.9315


def test_a_label_with_few_gold_items_keeps_the_common_threshold() -> None:
    plenty = ([(0.9, True)] * MIN_GOLD + [(0.4, False)] * 9, 0)
    few = ([(0.9, False)] * 3 + [(0.95, True)] * 3, 0)
    choice = choose_thresholds(candidates(plenty, few), ["Many", "Few"], Objective(), 0.0, 0.0)
    assert (choice.common, choice.own) == (0.65, {})
    assert choice.notes == ("fewer than 10 in the gold data, so with the common threshold: Few (3).",)


def test_a_label_gets_its_own_threshold_only_where_it_is_better_off() -> None:
    same = ([(0.9, True)] * 20 + [(0.4, False)] * 20, 0)
    other = ([(0.97, True)] * 10 + [(0.93, False)] * 5, 0)
    choice = choose_thresholds(candidates(same, other), ["Same", "Other"], Objective(), 0.0, 0.0)
    assert choice.common == 0.65  # between 0.4 and 0.9
    assert choice.own == {"Other": 0.95}


def test_a_label_that_cannot_reach_the_required_precision_is_named() -> None:
    good = ([(0.9, True)] * 30, 0)
    bad = ([(0.9, True)] * 10 + [(0.9, False)] * 10, 0)
    choice = choose_thresholds(candidates(good, bad), ["Good", "Bad"], Objective("precision", 0.7), 0.0, 0.0)
    assert choice.notes == (
        "no threshold of Bad reaches precision 0.7 (highest: 0.500); it keeps the common threshold.",
    )


@pytest.mark.parametrize(("measure", "required"), [("f1", 0.9), ("precision", None), ("recall", 1.5), ("recall", 0)])
def test_an_objective_that_makes_no_sense_is_refused(measure: str, required: float | None) -> None:
    with pytest.raises(InputError, match="required"):
        Objective(measure, required)  # type: ignore[arg-type]


def test_predictions_are_judged_as_the_strict_scores_judge_them() -> None:
    gold = Document(
        "Mara met Bo",
        entities=(Entity(0, 4, "Person"), Entity(9, 11, "Person")),
        relations=(Relation(0, 1, "knows"),),
    )
    predicted = Document(
        "Mara met Bo",
        entities=(Entity(0, 4, "Person", 0.75), Entity(9, 11, "Place", 0.5), Entity(9, 11, "Person", 0.25)),
        relations=(Relation(2, 0, "knows", 0.5), Relation(0, 1, "knows", 0.75)),
    )
    found = judged([gold], [predicted], ["Person", "Place"], entity_items)
    assert (found.labels.tolist(), found.scores.tolist()) == ([0, 1, 0], [0.75, 0.5, 0.25])
    assert (found.correct.tolist(), found.gold.tolist()) == ([True, False, True], [2, 0])
    assert judged([gold], [predicted], ["knows"], strict_relation_items(frozenset())).correct.tolist() == [False, False]
    either = judged([gold], [predicted], ["knows"], strict_relation_items(frozenset({"knows"})))
    assert (either.correct.tolist(), either.scores.tolist(), either.gold.tolist()) == ([True, False], [0.5, 0.75], [1])


def test_labels_that_a_document_was_not_annotated_for_are_not_judged() -> None:
    gold = Document("Mara", metadata={"annotated": ["Place"]})
    predicted = Document("Mara", entities=(Entity(0, 4, "Person", 0.75), Entity(0, 4, "Place", 0.5)))
    assert judged([gold], [predicted], ["Person", "Place"], entity_items).labels.tolist() == [1]
