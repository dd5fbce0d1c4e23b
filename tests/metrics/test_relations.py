"""Relation scores by hand: RE, RE+, direction, symmetry, and when an evaluation holds relations."""

from __future__ import annotations

import pytest

from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.metrics import evaluate, score_relations
from spanwise.schema import EntityType, RelationType, Schema

TEXT = "Ann Vale married Tom Orrin."
PEOPLE = (Entity(0, 8, "PERSON"), Entity(17, 26, "PERSON"))
MISTYPED = (Entity(0, 8, "PERSON"), Entity(17, 26, "ORG"))

TO, FRO = Relation(0, 1, "spouse"), Relation(1, 0, "spouse")
WRITTEN = [(TO,), (FRO,), (TO, FRO), (TO, TO), (FRO, TO, TO)]


def related(*relations: Relation, entities: tuple[Entity, ...] = PEOPLE) -> Document:
    return Document(TEXT, entities=entities, relations=relations)


def test_wrong_entity_label_is_right_for_re_and_wrong_for_re_plus():
    gold = [related(Relation(0, 1, "spouse"))]
    scores = score_relations(gold, [related(Relation(0, 1, "spouse"), entities=MISTYPED)])
    assert scores.boundaries.micro.f1 == 1.0
    assert scores.strict.micro.f1 == 0.0


def test_direction_counts_unless_the_relation_is_symmetric():
    gold = [related(Relation(0, 1, "spouse"))]
    turned = [related(Relation(1, 0, "spouse"))]
    assert score_relations(gold, turned).strict.micro.correct == 0
    assert score_relations(gold, turned, symmetric={"spouse"}).strict.micro.f1 == 1.0
    assert score_relations(gold, turned, symmetric={"sibling"}).strict.micro.correct == 0


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("predicted", WRITTEN)
def test_a_symmetric_relation_counts_once_on_each_side_however_it_is_written(written, predicted, strict):
    scores = score_relations([related(*written)], [related(*predicted)], symmetric=["spouse"])
    micro = (scores.strict if strict else scores.boundaries).micro
    assert (micro.gold, micro.predicted, micro.correct) == (1, 1, 1)


def test_a_directed_relation_counts_each_way_once():
    one, both = [related(TO, TO)], [related(TO, FRO, FRO)]
    micro = score_relations(one, both).strict.micro
    assert (micro.gold, micro.predicted, micro.correct) == (1, 2, 1)
    micro = score_relations(both, one).strict.micro
    assert (micro.gold, micro.predicted, micro.correct) == (2, 1, 1)


def test_a_turned_symmetric_relation_keeps_each_label_with_its_entity():
    gold = [related(TO, entities=MISTYPED)]
    turned = [related(FRO, entities=MISTYPED)]
    swapped = [related(TO, entities=(Entity(0, 8, "ORG"), Entity(17, 26, "PERSON")))]
    assert score_relations(gold, turned, symmetric=["spouse"]).strict.micro.f1 == 1.0
    assert score_relations(gold, swapped, symmetric=["spouse"]).strict.micro.correct == 0


def test_on_heads_relations_count_by_the_heads_of_their_entities():
    gold = related(TO, entities=(Entity(0, 8, "PERSON", head=Offsets(0, 3)), PEOPLE[1]))
    predicted = related(TO, entities=(Entity(0, 3, "PERSON"), Entity(9, 26, "PERSON", head=Offsets(17, 26))))
    whole, on_heads = evaluate([gold], [predicted]).relations, evaluate([gold], [predicted], heads=True).relations
    assert whole is not None
    assert on_heads is not None
    assert (whole.boundaries.micro.correct, on_heads.strict.micro.f1) == (0, 1.0)


def test_relations_are_compared_by_place_not_by_index():
    gold = [related(Relation(0, 1, "knows"))]
    predicted = [related(Relation(1, 0, "knows"), entities=PEOPLE[::-1])]
    assert score_relations(gold, predicted).strict.micro.f1 == 1.0


def test_duplicate_entities_give_one_relation():
    doubled = related(Relation(0, 1, "knows"), Relation(2, 1, "knows"), entities=(*PEOPLE, PEOPLE[0]))
    micro = score_relations([related(Relation(0, 1, "knows"))], [doubled]).strict.micro
    assert (micro.predicted, micro.correct) == (1, 1)


def test_scores_computed_by_hand():
    gold = [related(Relation(0, 1, "knows"), Relation(0, 1, "employs"))]
    predicted = [related(Relation(0, 1, "knows"), Relation(1, 0, "employs"), Relation(1, 1, "knows"))]
    scores = score_relations(gold, predicted).strict
    assert (scores.micro.precision, scores.micro.recall, scores.micro.f1) == (1 / 3, 1 / 2, 2 / 5)
    assert scores.macro.f1 == (2 / 3 + 0) / 2


def test_evaluation_without_relations_says_null():
    result = evaluate([related()], [related()]).to_dict()
    assert result["relations"] is None
    assert result["entities"]["micro"]["f1"] == 1.0


def test_evaluation_scores_relations_that_only_the_prediction_holds():
    result = evaluate([related()], [related(Relation(0, 1, "knows"))]).to_dict()
    assert result["relations"]["boundaries"]["micro"]["predicted"] == 1
    assert result["relations"]["strict"]["micro"]["precision"] == 0.0


def test_evaluation_reads_symmetry_from_the_schema():
    schema = Schema((EntityType("PERSON"),), (RelationType("spouse", symmetric=True),))
    gold, turned = iter([related(Relation(0, 1, "spouse"))]), iter([related(Relation(1, 0, "spouse"))])
    result = evaluate(gold, turned, schema)
    assert result.relations is not None
    assert result.relations.strict.micro.f1 == 1.0
