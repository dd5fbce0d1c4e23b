"""Scores of a model on labelled documents, and thresholds as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise import formats
from spanwise.document import Document, Entity, Relation
from spanwise.errors import InputError, SchemaError
from spanwise.inference.evaluation import evaluate_model
from spanwise.inference.extractor import Extractor
from spanwise.inference.thresholds import parse_thresholds
from spanwise.schema import EntityType, Schema

SCHEMA = Schema((EntityType("Person"), EntityType("a=b")))


@pytest.fixture(scope="module")
def extractor(trained: Path) -> Extractor:
    return Extractor.from_pretrained(trained)


def test_the_scores_are_those_of_counting_by_hand(extractor: Extractor, easy_files: Path) -> None:
    gold = list(formats.read(easy_files / "test.jsonl"))
    wanted = {(d.id, e.start, e.end, e.label) for d in gold for e in d.entities}
    found = {(d.id, e.start, e.end, e.label) for d in extractor(gold) for e in d.entities}
    micro = evaluate_model(extractor, gold).entities.micro
    assert (micro.gold, micro.predicted, micro.correct) == (len(wanted), len(found), len(wanted & found))
    assert micro.f1 == pytest.approx(2 * len(wanted & found) / (len(wanted) + len(found)))


def test_gold_that_no_model_can_find_counts_against_it(extractor: Extractor) -> None:
    """Half a word is no word: it is missed, not left out."""
    document = Document("Unbreakable Bo", entities=(Entity(0, 2, "Person"), Entity(12, 14, "Person")))
    assert evaluate_model(extractor, [document]).entities.micro.gold == 2


def test_a_higher_threshold_predicts_less(extractor: Extractor, easy_files: Path) -> None:
    gold = list(formats.read(easy_files / "test.jsonl"))
    assert evaluate_model(extractor, gold, 1.0).entities.micro.predicted == 0
    assert evaluate_model(extractor, gold, {"Person": 1.0}).entities.labels["Place"].predicted > 0


def test_labels_that_the_model_does_not_know_are_refused(extractor: Extractor) -> None:
    with pytest.raises(SchemaError, match=r"the evaluation data has the entity labels \['Planet'\]"):
        evaluate_model(extractor, [Document("Mars", entities=(Entity(0, 4, "Planet"),))])


def test_a_model_of_entities_is_not_scored_on_relations(extractor: Extractor) -> None:
    relations = (Relation(0, 1, "lives in"),)
    document = Document("Bo left Kell", entities=(Entity(0, 2, "Person"), Entity(8, 12, "Place")), relations=relations)
    assert evaluate_model(extractor, [document]).relations is None


def test_a_threshold_per_label_is_an_exception_to_the_common_one() -> None:
    assert parse_thresholds(0.5, ["Person=0.8"], 0.1, SCHEMA) == {"Person": 0.8, "a=b": 0.5}
    assert parse_thresholds(None, ["a=b=0.25"], 0.1, SCHEMA) == {"Person": 0.1, "a=b": 0.25}


@pytest.mark.parametrize("typed", ["Person", "Person=", "Person=high", "0.8", "Person 0.8"])
def test_a_threshold_that_is_typed_wrongly_is_told(typed: str) -> None:
    with pytest.raises(InputError, match=r"a label's threshold is written LABEL=0\.8, not"):
        parse_thresholds(0.5, [typed], 0.0, SCHEMA)
