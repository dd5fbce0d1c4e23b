"""The randomization test against exact enumeration, and counts per document against the scorers."""

from __future__ import annotations

import time
import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.document import Document, Entity, Relation
from spanwise.errors import InputError
from spanwise.metrics import bootstrap_difference, document_counts, evaluate, randomization_test
from spanwise.metrics.significance import Counts
from spanwise.schema import EntityType, RelationType, Schema


def f1(counts: list[Counts]) -> float:
    gold, predicted, correct = (sum(column) for column in zip(*counts, strict=True))
    return 2 * correct / (gold + predicted) if gold + predicted else 0.0


def exact_p(one: list[Counts], other: list[Counts]) -> float:
    """The share of all 2^n swaps whose difference is as large, in pure Python: the oracle."""
    observed = abs(f1(one) - f1(other))
    extreme = [
        abs(f1([b if s else a for a, b, s in zipped]) - f1([a if s else b for a, b, s in zipped])) >= observed - 1e-12
        for swaps in product((False, True), repeat=len(one))
        for zipped in [list(zip(one, other, swaps, strict=True))]
    ]
    return sum(extreme) / len(extreme)


@st.composite
def two_systems(draw: st.DrawFn) -> tuple[list[Counts], list[Counts]]:
    """Counts of two systems on the same one to seven documents."""
    systems: tuple[list[Counts], list[Counts]] = ([], [])
    for gold in draw(st.lists(st.integers(0, 4), min_size=1, max_size=7)):
        for system in systems:
            predicted = draw(st.integers(0, 4))
            system.append((gold, predicted, draw(st.integers(0, min(gold, predicted)))))
    return systems


@given(two_systems())
def test_it_agrees_with_enumerating_every_swap(systems: tuple[list[Counts], list[Counts]]) -> None:
    found = randomization_test(*systems)
    assert found.difference == pytest.approx(f1(systems[0]) - f1(systems[1]))
    assert found.p == pytest.approx(exact_p(*systems), abs=0.03)  # six standard errors of 10,000 trials


@given(two_systems())
def test_it_is_symmetric(systems: tuple[list[Counts], list[Counts]]) -> None:
    one, other = randomization_test(*systems, trials=500), randomization_test(*systems[::-1], trials=500)
    assert (one.difference, one.p) == (-other.difference, other.p)


def test_equal_systems_give_one() -> None:
    counts = [(3, 2, 1), (1, 1, 1), (0, 2, 0)]
    assert randomization_test(counts, counts).p == 1.0
    assert randomization_test(counts, counts).difference == 0.0
    assert randomization_test([], []).p == 1.0


def test_equal_scores_by_different_answers_give_one() -> None:
    assert randomization_test([(1, 1, 1), (1, 1, 0)], [(1, 1, 0), (1, 1, 1)]).p == 1.0


def test_a_clear_difference_gives_the_least_p_there_is() -> None:
    found = randomization_test([(1, 1, 1)] * 50, [(1, 1, 0)] * 50, trials=999)
    assert (found.difference, found.p, found.trials) == (1.0, 0.001, 999)


def test_a_difference_of_one_document_is_chance() -> None:
    one, other = [(1, 1, 1)] * 50, [(1, 1, 1)] * 49 + [(1, 1, 0)]
    assert randomization_test(one, other).p == 1.0


def test_the_seed_decides() -> None:
    one, other = [(1, 1, number % 2) for number in range(40)], [(1, 1, number % 3 // 2) for number in range(40)]
    assert randomization_test(one, other, seed=5) == randomization_test(one, other, seed=5)
    assert randomization_test(one, other, seed=5).p != randomization_test(one, other, seed=6).p


@pytest.mark.parametrize("other", [[(2, 1, 1)], [(1, 1, 1), (1, 1, 1)]], ids=["other gold", "more documents"])
def test_other_documents_are_refused(other: list[Counts]) -> None:
    with pytest.raises(InputError, match="were not scored on the same documents"):
        randomization_test([(1, 1, 1)], other)


def test_many_documents_are_quick_and_in_bounded_memory() -> None:
    rng = np.random.default_rng(1)
    one, other = ([(3, 3, int(hit)) for hit in rng.integers(0, 4, 5_000)] for _ in range(2))
    tracemalloc.start()
    began = time.process_time()
    randomization_test(one, other)
    seconds, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 10  # a third of one on a free core; a Python loop would take minutes
    assert peak < 40e6  # all trials at once would be 400 MB


SCHEMA = Schema((EntityType("A"), EntityType("B")), (RelationType("r"), RelationType("s", symmetric=True)))
ENTITIES = st.builds(Entity, st.integers(0, 2), st.integers(3, 4), st.sampled_from("AB"))


@st.composite
def documents(draw: st.DrawFn) -> Document:
    entities = draw(st.lists(ENTITIES, max_size=3))
    ends = st.integers(0, len(entities) - 1)
    relations = st.lists(st.builds(Relation, ends, ends, st.sampled_from("rs")), max_size=3)
    return Document("text", entities=tuple(entities), relations=tuple(draw(relations)) if entities else ())


@given(st.lists(st.tuples(documents(), documents()), max_size=4))
def test_counts_of_documents_add_up_to_those_of_the_scorers(pairs: list[tuple[Document, Document]]) -> None:
    gold, predicted = [one for one, _ in pairs], [other for _, other in pairs]
    counts, scores = document_counts(gold, predicted, SCHEMA), evaluate(gold, predicted, SCHEMA)
    assert len(counts.entities) == len(pairs)
    wanted = {"entities": scores.entities}
    if scores.relations:
        wanted |= {"boundaries": scores.relations.boundaries, "strict": scores.relations.strict}
    else:
        assert counts.boundaries is counts.strict is None
    for name, score in wanted.items():
        total = np.array(getattr(counts, name)).reshape(-1, 3).sum(axis=0).tolist()
        assert total == [score.micro.gold, score.micro.predicted, score.micro.correct]


def test_a_document_without_relations_counts_none_beside_one_that_has_some() -> None:
    people = (Entity(0, 2, "A"), Entity(2, 4, "B"))
    linked, bare = Document("text", entities=people, relations=(Relation(0, 1, "r"),)), Document("text")
    counts = document_counts([linked, bare], [linked, bare])
    assert counts.strict == counts.boundaries == ((1, 1, 1), (0, 0, 0))
    assert counts.entities == ((2, 2, 2), (0, 0, 0))


def test_documents_of_other_texts_are_refused() -> None:
    with pytest.raises(InputError, match="document 1 differ"):
        document_counts([Document("a"), Document("b")], [Document("a"), Document("c")])


def test_the_interval_of_a_difference_is_that_of_a_plain_bootstrap() -> None:
    rng = np.random.default_rng(3)
    gold = rng.integers(1, 5, 40)
    one, other = ([[int(g), int(g), int(rng.integers(0, g + 1))] for g in gold] for _ in range(2))
    differences = []
    for _ in range(4000):
        drawn = rng.integers(0, len(gold), len(gold))
        f1 = [2 * sum(rows[i][2] for i in drawn) / sum(rows[i][0] + rows[i][1] for i in drawn) for rows in (one, other)]
        differences.append(f1[0] - f1[1])
    low, high = bootstrap_difference(one, other, samples=4000)
    assert (low, high) == pytest.approx(np.percentile(differences, [2.5, 97.5]), abs=0.01)


def test_equal_systems_differ_by_nothing_in_every_sample() -> None:
    assert bootstrap_difference([[2, 2, 1], [1, 1, 1]], [[2, 2, 1], [1, 1, 1]]) == (0.0, 0.0)
