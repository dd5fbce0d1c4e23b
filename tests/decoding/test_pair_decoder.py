"""Relations from scores of pairs: pairs against two loops, types that arguments allow, and no pair ever dropped."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from invented_examples import PIECES, example
from spanwise.decoding.pairs import PAIR_BLOCK_SIZE, Activation, PairDecoder, PairRows, PairScores
from spanwise.decoding.spans import SpanScores
from spanwise.pipeline.collate import collate, collate_given_entities
from spanwise.schema import EntityType, RelationType, Schema
from spanwise.seam.batch import Array, Batch
from spanwise.seam.decoder import PredictedSpans, Prediction, Proposal, ScoreThresholds
from spanwise.seam.proposals import Negatives, SpanProposer
from spanwise.seam.runner import StageOne, run_stages

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


def decoder_of(schema: Schema, activation: Activation = "sigmoid") -> PairDecoder:
    return PairDecoder.of(schema, nested=True, multi_label=False, activation=activation)


def found_of(entities: list[Entity]) -> PredictedSpans:
    rows = np.array(entities, np.int64).reshape(-1, 4)
    return PredictedSpans(rows[:, :3], rows[:, 3], np.full(len(rows), 0.5, np.float32))


def joined(found: PredictedSpans, schema: Schema, block_size: int = EVERYTHING) -> dict[tuple[int, int], list[str]]:
    """All pairs with the names of the types that are read from them, however probable each is."""
    decoder, pairs = decoder_of(schema), {}
    everything = ScoreThresholds(np.zeros(3, np.float32), np.zeros(len(schema.relations), np.float32))
    for block in decoder.pairs(found, block_size):
        for pair in block.tolist():
            assert tuple(pair) not in pairs
            pairs[tuple(pair)] = []
        scores = PairScores(np.zeros((len(block), len(schema.relations)), np.float32))
        linked = decoder._relations(found, block, scores.logits, everything)
        for pair, label in zip(linked.pairs.tolist(), linked.labels.tolist(), strict=True):
            pairs[tuple(pair)].append(schema.relation_names[label])
    return pairs


def types_between(one: Entity, other: Entity, schema: Schema) -> list[str]:
    """Asks of every type whether it may join the two; a symmetric one in the order of the text alone."""
    names, types = schema.entity_names, []
    for relation in schema.relations:
        heads, tails = relation.head_types or names, relation.tail_types or names
        fits = names[one[3]] in heads and names[other[3]] in tails
        turned = names[other[3]] in heads and names[one[3]] in tails
        if (one[1:3] < other[1:3] and (fits or turned)) if relation.symmetric else fits:
            types.append(relation.name)
    return types


def looped(entities: list[Entity], schema: Schema) -> dict[tuple[int, int], list[str]]:
    """Two loops over the entities."""
    pairs = {}
    for head, one in enumerate(entities):
        for tail, other in enumerate(entities):
            apart = one[0] == other[0] and one[1:3] != other[1:3]
            if apart and (types := types_between(one, other, schema)):
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
    schema: Schema, entities: list[Entity], block_size: int
) -> None:
    found = joined(found_of(entities), schema, block_size)
    assert found == looped(entities, schema)
    assert list(found) == sorted(found)  # grouped by example, as models want them


@given(entities_of_a_batch(), st.integers(1, 9))
def test_no_block_has_more_pairs_than_allowed(entities: list[Entity], block_size: int) -> None:
    blocks = [len(rows) for rows in decoder_of(FREE).pairs(found_of(entities), block_size)]
    assert all(0 < size <= block_size for size in blocks)


def test_argument_types_decide_which_types_a_pair_may_have() -> None:
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
    assert list(decoder_of(FREE).pairs(found_of(entities))) == []


def test_a_schema_without_relations_has_no_pairs() -> None:
    assert list(decoder_of(Schema(ENTITIES)).pairs(found_of([(0, 0, 1, 0), (0, 2, 3, 0)]))) == []


def chance(scores: list[float], kind: int, possible: list[int], activation: str) -> float | None:
    """Of one type: its sigmoid; or its share among None and the possible types where it is the best of these."""
    if activation == "sigmoid":
        return 1 / (1 + math.exp(-scores[kind]))
    powers = {0: math.exp(scores[0])} | {1 + k: math.exp(scores[1 + k]) for k in possible}
    best = max(powers, key=powers.__getitem__)
    return powers[best] / sum(powers.values()) if best == 1 + kind else None


class Linked(NamedTuple):
    """A decoder's entities and the scores of every pair of them."""

    entities: list[Entity]
    logits: Array  # [K, K, R] or [K, K, 1 + R]
    lowest: Array  # [R]


@st.composite
def linked(draw: st.DrawFn, classes: int) -> Linked:
    entities = draw(entities_of_a_batch())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    logits = 2 * rng.standard_normal((len(entities), len(entities), classes))
    lowest = [draw(st.sampled_from([0.0, 0.3, 0.6])) for _ in STRICT.relations]
    return Linked(entities, logits.astype(np.float32), np.array(lowest, np.float32))


def relations_of(decoder: PairDecoder, case: Linked, block_size: int) -> list[list[tuple[int, ...]]]:
    """Example by example, through propose and decode: head and tail as rows of all entities, type, score."""
    found = found_of(case.entities)
    thresholds = ScoreThresholds(np.zeros(3, np.float32), case.lowest)
    batch = collate([example([1] * 6) for _ in range(5)], PIECES, None)
    rows = [PairRows(found.spans, pairs) for pairs in decoder.pairs(found, block_size)]
    second = ((row, PairScores(case.logits[row.pairs[:, 0], row.pairs[:, 1]])) for row in rows)
    predictions = decoder.decode(Proposal(found, rows), second, batch, thresholds)
    first = [sum(entity[0] < row for entity in case.entities) for row in range(5)]
    for row, prediction in enumerate(predictions):
        assert [span[:3] for span in prediction.spans] == [entity[1:] for entity in case.entities if entity[0] == row]
    return [
        [(r.head + shift, r.tail + shift, r.label, r.score) for r in prediction.relations]
        for shift, prediction in zip(first, predictions, strict=True)
    ]


def check_relations(activation: Activation, case: Linked, block_size: int) -> None:
    wanted: list[list[Any]] = [[] for _ in range(5)]
    for head, one in enumerate(case.entities):
        for tail, other in enumerate(case.entities):
            if one[0] != other[0] or one[1:3] == other[1:3]:
                continue
            names, readable = STRICT.relation_names, types_between(one, other, STRICT)
            either = {*readable, *types_between(other, one, SYMMETRIC)}  # also those read from the other order
            possible = [names.index(name) for name in names if name in either]
            scores = case.logits[head, tail].astype(float).tolist()
            for kind in map(names.index, readable):
                probability = chance(scores, kind, possible, activation)
                if probability is not None and probability >= case.lowest[kind]:
                    wanted[one[0]].append((head, tail, kind, pytest.approx(probability, abs=1e-5)))
    assert relations_of(decoder_of(STRICT, activation), case, block_size) == wanted


SYMMETRIC = Schema(ENTITIES, tuple(relation for relation in STRICT.relations if relation.symmetric))


@given(linked(classes=len(STRICT.relations)), st.sampled_from([1, 5, EVERYTHING]))
def test_with_sigmoid_every_allowed_type_that_is_probable_enough_is_a_relation(case: Linked, block_size: int) -> None:
    check_relations("sigmoid", case, block_size)


@given(linked(classes=1 + len(STRICT.relations)), st.sampled_from([1, 5, EVERYTHING]))
def test_with_softmax_the_best_of_the_possible_types_is_a_relation_unless_none_is_better(
    case: Linked, block_size: int
) -> None:
    check_relations("softmax", case, block_size)


THREE = Schema(ENTITIES, (RelationType("of"), RelationType("with")))


def probable(
    logits: list[list[float]], schema: Schema, activation: Activation, lowest: list[float]
) -> list[tuple[int, int, int, float]]:
    """Relations of three persons, beside each other, by the scores of the pairs (0, 1), (1, 0) and (0, 2)."""
    found = found_of([(0, 0, 1, 0), (0, 2, 3, 0), (0, 4, 5, 0)])
    pairs = np.array([[0, 1], [1, 0], [0, 2]])[: len(logits)]
    thresholds = ScoreThresholds(np.zeros(3, np.float32), np.array(lowest, np.float32))
    linked = decoder_of(schema, activation)._relations(found, pairs, np.array(logits, np.float32), thresholds)
    columns = (linked.pairs[:, 0], linked.pairs[:, 1], linked.labels, linked.scores)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def logit(chance: float) -> float:
    return math.log(chance / (1 - chance))


def test_relations_are_the_types_that_are_probable_enough() -> None:
    chances = [[0.41, 0.9], [0.39, 0.2], [0.8, 0.79]]
    found = probable([list(map(logit, row)) for row in chances], THREE, "sigmoid", [0.4, 0.5])
    assert [relation[:3] for relation in found] == [(0, 1, 0), (0, 1, 1), (0, 2, 0), (0, 2, 1)]
    assert [relation[3] for relation in found] == pytest.approx([0.41, 0.9, 0.8, 0.79])


def test_a_threshold_of_one_keeps_what_is_certain() -> None:
    assert [relation[2] for relation in probable([[60.0, 5.0]], THREE, "sigmoid", [1.0, 1.0])] == [0]


def test_with_softmax_only_the_best_class_is_ever_a_relation() -> None:
    logits = [[2.0, 1.9, 0.0], [0.0, 0.1, 0.2], [-1.0, 3.0, 2.9]]  # of None, and two types
    found = probable(logits, THREE, "softmax", [0.0, 0.0])
    assert [relation[:3] for relation in found] == [(1, 0, 1), (0, 2, 0)]
    powers = np.exp(np.array([0.0, 0.1, 0.2]))
    assert found[0][3] == pytest.approx(powers[2] / powers.sum(), rel=1e-5)


def test_the_best_class_is_the_best_of_those_that_the_schema_allows() -> None:
    schema = Schema(ENTITIES, (RelationType("of"), RelationType("with", head_types=("Place",))))
    found = probable([[0.0, 1.0, 2.0], [0.5, 0.0, 2.0]], schema, "softmax", [0.0, 0.0])
    assert [relation[:3] for relation in found] == [(0, 1, 0)]
    assert found[0][3] == pytest.approx(math.e / (1 + math.e), rel=1e-5)


def test_a_symmetric_relation_read_backwards_is_no_other_relation() -> None:
    schema = Schema(ENTITIES, (RelationType("of"), RelationType("with", symmetric=True)))
    found = probable([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]], schema, "softmax", [0.0, 0.0])
    assert [relation[:3] for relation in found] == [(0, 1, 1)]


def test_a_symmetric_relation_that_the_arguments_forbid_takes_no_pair_from_another() -> None:
    forbidden = RelationType("with", symmetric=True, head_types=("Firm",), tail_types=("Firm",))
    schema = Schema(ENTITIES, (RelationType("of"), forbidden))
    found = probable([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]], schema, "softmax", [0.0, 0.0])
    assert [relation[:3] for relation in found] == [(0, 1, 0), (1, 0, 0)]


CROWD, WORDS = 120, 600


class Crowded:
    """A runner that takes every fifth word for an entity and each pair for a relation; it records what it is asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def forward(self, batch: Batch[Array]) -> StageOne:
        _, start, end = batch.proposals.spans.T
        entity = (start % 5 == 0) & (end == start + 1)
        return StageOne(SpanScores(9.0 * np.stack((~entity, entity, entity < 0, entity < 0), 1).astype(np.float32)), ())

    def rescore(self, features: object, rows: Any) -> Any:
        self.asked.append(len(rows.pairs))
        return PairScores(np.full((len(rows.pairs), 2), 9.0, np.float32))


@pytest.mark.parametrize("mode", ["predicted", "given"])
def test_many_entities_in_one_sentence_lose_no_pair_and_no_block_is_large(mode: str) -> None:
    gold = [(word, word + 1, 0) for word in range(0, WORDS, 5)]
    crowded, runner = example([1] * WORDS, gold, labels=3), Crowded()
    proposer = SpanProposer(2, Negatives(1)) if mode == "predicted" else None
    batch = collate([crowded], PIECES, proposer)
    thresholds = ScoreThresholds(np.zeros(3, np.float32), np.full(2, 0.4, np.float32))
    entities = collate_given_entities([crowded]) if mode == "given" else None
    (prediction,) = run_stages(runner, decoder_of(THREE), batch, thresholds, entities)
    assert [span[:3] for span in prediction.spans] == gold
    pairs = {(head, tail) for head in range(CROWD) for tail in range(CROWD) if head != tail}
    found = [relation[:3] for relation in prediction.relations]
    assert len(found) == 2 * len(pairs) == 2 * 14280
    assert set(found) == {(*pair, kind) for pair in pairs for kind in range(2)}
    assert sum(runner.asked) == 14280
    assert max(runner.asked) <= PAIR_BLOCK_SIZE < 14280


def test_no_given_entities_are_not_replaced_by_predicted_ones() -> None:
    runner, batch = Crowded(), collate([example([1] * 9)], PIECES, SpanProposer(2, Negatives(1)))
    thresholds = ScoreThresholds(np.zeros(3, np.float32), np.zeros(2, np.float32))
    ask: Callable[..., list[Prediction]] = partial(run_stages, runner, decoder_of(THREE), batch, thresholds)
    assert ask(PredictedSpans.empty()) == [Prediction()]
    assert len(ask()[0].spans) == 2
