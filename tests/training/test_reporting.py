"""What training reports of dev: entities, and relations where there are some."""

from __future__ import annotations

import pytest

from spanwise.metrics import Score
from spanwise.training.reporting import DevScore, EpochReport

ENTITIES, RELATIONS = (
    Score.from_counts(gold=4, predicted=4, correct=3),
    Score.from_counts(gold=4, predicted=2, correct=1),
)


def test_the_best_epoch_is_chosen_by_entities_or_by_the_mean_with_relations() -> None:
    assert DevScore(ENTITIES).f1 == 0.75
    assert DevScore(ENTITIES, RELATIONS).f1 == pytest.approx((0.75 + 1 / 3) / 2)


def test_both_scores_are_printed() -> None:
    assert str(DevScore(ENTITIES)) == "dev F1 of entities 75.00"
    assert str(DevScore(ENTITIES, RELATIONS)) == "dev: entities 75.00, RE+ 33.33, mean 54.17"


@pytest.mark.parametrize("relations", [None, RELATIONS])
def test_a_line_of_metrics_holds_relations_beside_entities(relations: Score | None) -> None:
    line = EpochReport(2, {"loss": 0.5}, DevScore(ENTITIES, relations), True, 1.0).to_dict()
    wanted = {"precision": 0.75, "recall": 0.75, "f1": 0.75}
    beside = {"precision": 0.5, "recall": 0.25, "f1": pytest.approx(1 / 3)}
    assert line["dev"] == (wanted if relations is None else {**wanted, "relations": beside})


def test_relations_that_were_all_missed_are_reported_all_the_same() -> None:
    none = Score.from_counts(gold=4, predicted=0, correct=0)
    assert DevScore(ENTITIES, none).f1 == 0.375
    assert EpochReport(1, {}, DevScore(ENTITIES, none), True, 1.0).to_dict()["dev"]["relations"]["f1"] == 0


def test_without_dev_data_there_is_no_score() -> None:
    assert EpochReport(1, {}, None, True, 1.0).to_dict()["dev"] is None
