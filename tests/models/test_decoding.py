"""From scores to spans and relations: pairs against two loops, types that arguments allow, and no pair ever dropped."""

from __future__ import annotations

from typing import Any

import joint_cases as cases
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from spanwise.batching import collate
from spanwise.batching import given as given_spans
from spanwise.models.base import Least
from spanwise.models.decoding import PAIRS_AT_ONCE, Found, PairFilter, entities_of, gathered, pairs_of, relations_of
from spanwise.models.spert import SpERT
from spanwise.nn.encoder import Encoded
from spanwise.schema import EntityType, RelationType, Schema

ENTITIES = tuple(map(EntityType, ("Person", "Place", "Firm")))
FREE = Schema(ENTITIES, (RelationType("knows"),))
STRICT = Schema(
    ENTITIES,
    (
        RelationType("lives in", head_types=("Person",), tail_types=("Place", "Firm")),
        RelationType("owns", head_types=("Person", "Firm")),
        RelationType("rival of", symmetric=True),
        RelationType("partner of", symmetric=True, head_types=("Firm",), tail_types=("Person",)),
    ),
)
EVERYTHING = 10**9
Entity = tuple[int, int, int, int]  # example, start, end, type


def found_of(entities: list[Entity]) -> Found:
    rows = torch.tensor(entities, dtype=torch.long).view(-1, 4)
    return Found(rows[:, :3], rows[:, 3], torch.full((len(rows),), 0.5))


def joined(found: Found, schema: Schema, at_once: int = EVERYTHING) -> dict[tuple[int, int], list[str]]:
    """All pairs with the names of the types they may hold."""
    pairs: dict[tuple[int, int], list[str]] = {}
    for rows, allowed in pairs_of(found, PairFilter(schema), at_once):
        for (head, tail), types in zip(rows.tolist(), allowed.tolist(), strict=True):
            assert (head, tail) not in pairs
            pairs[head, tail] = [name for name, may in zip(schema.relation_names, types, strict=True) if may]
    return pairs


def looped(entities: list[Entity], schema: Schema) -> dict[tuple[int, int], list[str]]:
    """Two loops over the entities, asking of every type whether it may join the two."""
    names, pairs = schema.entity_names, {}
    for head, one in enumerate(entities):
        for tail, other in enumerate(entities):
            if one[0] != other[0] or one[1:3] == other[1:3]:
                continue
            types = []
            for relation in schema.relations:
                heads, tails = relation.head_types or names, relation.tail_types or names
                fits = names[one[3]] in heads and names[other[3]] in tails
                turned = names[other[3]] in heads and names[one[3]] in tails
                if (one[1:3] < other[1:3] and (fits or turned)) if relation.symmetric else fits:
                    types.append(relation.name)
            if types:
                pairs[head, tail] = types
    return pairs


@st.composite
def entities_of_a_batch(draw: st.DrawFn) -> list[Entity]:
    """Entities of five sentences, ordered by sentence, in any order within; two on one span among them."""
    bounds = st.tuples(st.integers(0, 5), st.integers(1, 6)).filter(lambda span: span[0] < span[1])
    drawn = draw(st.lists(st.tuples(st.integers(0, 4), bounds, st.integers(0, 2)), max_size=14, unique=True))
    return [(row, *span, label) for row, span, label in sorted(drawn, key=lambda entity: entity[0])]


@given(entities_of_a_batch(), st.sampled_from([1, 2, 7, EVERYTHING]))
@pytest.mark.parametrize("schema", [FREE, STRICT], ids=["any arguments", "typed and symmetric"])
def test_pairs_are_those_of_two_loops_whatever_the_size_of_the_blocks(
    schema: Schema, entities: list[Entity], at_once: int
) -> None:
    found = joined(found_of(entities), schema, at_once)
    assert found == looped(entities, schema)
    assert list(found) == sorted(found)  # grouped by example, as models want them


@given(entities_of_a_batch(), st.integers(1, 9))
def test_no_block_has_more_pairs_than_allowed(entities: list[Entity], at_once: int) -> None:
    blocks = [len(rows) for rows, _ in pairs_of(found_of(entities), PairFilter(FREE), at_once)]
    assert all(0 < size <= at_once for size in blocks)


def test_argument_types_decide_which_types_a_pair_may_hold() -> None:
    person, place, firm = (0, 0, 1, 0), (0, 2, 3, 1), (0, 4, 5, 2)
    assert joined(found_of([person, place, firm]), STRICT) == {
        (0, 1): ["lives in", "owns", "rival of"],
        (0, 2): ["lives in", "owns", "rival of", "partner of"],
        (1, 2): ["rival of"],
        (2, 0): ["owns"],
        (2, 1): ["owns"],
    }


@pytest.mark.parametrize(
    ("head_types", "tail_types"), [(("Firm",), ("Person",)), (("Person",), ("Firm",))], ids=["turned", "as written"]
)
def test_a_symmetric_relation_is_read_once_in_the_order_of_the_text(
    head_types: tuple[str, ...], tail_types: tuple[str, ...]
) -> None:
    relation = RelationType("partner of", symmetric=True, head_types=head_types, tail_types=tail_types)
    schema = Schema(ENTITIES, (relation,))
    person, firm = (0, 0, 1, 0), (0, 4, 5, 2)
    assert joined(found_of([person, firm]), schema) == {(0, 1): ["partner of"]}
    assert joined(found_of([firm, person]), schema) == {(1, 0): ["partner of"]}
    assert joined(found_of([person, (0, 4, 5, 0)]), schema) == {}


def test_spans_that_start_together_are_ordered_by_their_ends() -> None:
    schema = Schema(ENTITIES, (RelationType("rival of", symmetric=True),))
    assert joined(found_of([(0, 0, 3, 0), (0, 0, 1, 0)]), schema) == {(1, 0): ["rival of"]}


@pytest.mark.parametrize("entities", [[], [(0, 0, 1, 0)], [(0, 0, 1, 0), (0, 0, 1, 1)], [(0, 0, 1, 0), (1, 2, 3, 0)]])
def test_without_two_spans_in_one_sentence_there_are_no_pairs(entities: list[Entity]) -> None:
    assert list(pairs_of(found_of(entities), PairFilter(FREE))) == []


def test_a_schema_without_relations_has_no_pairs() -> None:
    assert list(pairs_of(found_of([(0, 0, 1, 0), (0, 2, 3, 0)]), PairFilter(Schema(ENTITIES)))) == []


def test_relations_are_the_allowed_types_that_are_sure_enough() -> None:
    pairs = torch.tensor([[0, 1], [1, 0], [0, 2]])
    probability = torch.tensor([[0.4, 0.9], [0.39, 0.2], [0.8, 0.79]])
    allowed = torch.tensor([[True, True], [True, True], [False, True]])
    linked = relations_of(probability, pairs, allowed, torch.tensor([0.4, 0.5]))
    assert linked.pairs.tolist() == [[0, 1], [0, 1], [0, 2]]
    assert linked.labels.tolist() == [0, 1, 1]
    torch.testing.assert_close(linked.scores, torch.tensor([0.4, 0.9, 0.79]))


def test_a_threshold_of_one_keeps_what_is_certain() -> None:
    probability = torch.tensor([[1.0, 0.999]])
    linked = relations_of(probability, torch.tensor([[0, 1]]), torch.ones(1, 2, dtype=torch.bool), torch.ones(2))
    assert linked.labels.tolist() == [0]


@pytest.mark.parametrize("nested", [True, False])
def test_entities_are_spans_whose_best_class_is_a_type_and_sure_enough(nested: bool) -> None:
    spans = torch.tensor([[0, 0, 1], [0, 0, 2], [0, 1, 2], [2, 0, 1]])
    chances = torch.tensor([[0.6, 0.3, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8], [0.3, 0.5, 0.2]])
    found = entities_of(chances.log(), spans, torch.tensor([0.6, 0.0]), nested=nested)
    kept = [[0, 0, 2], [0, 1, 2]] if nested else [[0, 1, 2]]  # the last is not sure enough
    assert found.spans.tolist() == kept
    assert found.labels.tolist() == ([0, 1] if nested else [1])
    torch.testing.assert_close(found.scores, torch.tensor([0.7, 0.8] if nested else [0.8]))


def test_relations_name_the_spans_of_their_own_prediction() -> None:
    found = found_of([(0, 0, 1, 0), (2, 0, 1, 1), (2, 3, 4, 2)])
    linked = relations_of(torch.tensor([[0.7]]), torch.tensor([[2, 1]]), torch.ones(1, 1).bool(), torch.zeros(1))
    predictions = gathered(found, 4, linked)
    assert [[span[:3] for span in p.spans] for p in predictions] == [[(0, 1, 0)], [], [(0, 1, 1), (3, 4, 2)], []]
    assert [[r[:3] for r in p.relations] for p in predictions] == [[], [], [(1, 0, 0)], []]


CROWD, WORDS = 60, 300


@pytest.fixture
def crowded() -> Any:
    """SpERT that takes every fifth word for an entity and each pair for both relations; it counts what it is asked."""
    model = cases.build(SpERT)
    model.asked = []

    def score_spans(seen: Any, spans: Tensor) -> Tensor:
        entity = (spans[:, 1] % 5 == 0) & (spans[:, 2] == spans[:, 1] + 1)
        return torch.stack((~entity, entity, torch.zeros_like(entity), torch.zeros_like(entity)), dim=1) * 9.0

    def score_pairs(seen: Any, pairs: Tensor) -> Tensor:
        model.asked.append(len(pairs))
        return torch.full((len(pairs), 2), 9.0)

    model.score_spans, model.score_pairs = score_spans, score_pairs
    model.see_pairs = lambda seen, spans: None
    return model


@pytest.mark.parametrize("mode", ["decoded", "given"])
@torch.no_grad()
def test_sixty_entities_in_one_sentence_lose_no_pair_and_no_block_is_large(crowded: Any, mode: str) -> None:
    least = Least(torch.zeros(3), torch.full((2,), 0.4))
    gold = [(word, word + 1, 0) for word in range(0, WORDS, 5)]
    example = cases.example(cases.Marked(WORDS, gold, []))
    if mode == "decoded":
        batch = collate([example], 0, 1, crowded.candidates)
        words = Encoded(torch.zeros(1, WORDS, cases.DIM), torch.zeros(1, cases.DIM))
        (prediction,) = crowded.decode(crowded.score(words, batch), batch, least)
    else:
        crowded.encoder.forward = lambda batch: None
        (prediction,) = crowded.relate(given_spans([example], 0, 1), least)
    assert [span[:3] for span in prediction.spans] == gold
    pairs = {(head, tail) for head in range(CROWD) for tail in range(CROWD) if head != tail}
    found = [relation[:3] for relation in prediction.relations]
    assert len(found) == 2 * len(pairs) == 2 * 3540
    assert set(found) == {(*pair, kind) for pair in pairs for kind in range(2)}
    assert sum(crowded.asked) == 3540
    assert max(crowded.asked) <= PAIRS_AT_ONCE == 2048
