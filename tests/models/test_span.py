"""SPAN beyond its formulas: what its base sees, what counts as a relation, how many negatives, options."""

from __future__ import annotations

from functools import partial
from typing import Any

import joint_cases as cases
import pytest
import torch
from pydantic import ValidationError

from spanwise.batching import given
from spanwise.errors import RecipeError
from spanwise.models import joint
from spanwise.models.base import Least, Negatives
from spanwise.models.decoding import PairFilter, pairs_of
from spanwise.models.span import SPAN, SPANConfig
from spanwise.models.spert import SpERT
from spanwise.nn.encoder import Encoded
from spanwise.nn.packing import Packing
from spanwise.schema import RelationType, Schema


@torch.no_grad()
def test_the_base_of_spans_sees_exactly_what_spert_sees() -> None:
    """Table 3: without both parts, R_s is the sentence's vector, the maximum over the span, and its width."""
    base = cases.build(SPAN, span_specific=False, span_context=False)
    spert = cases.build(SpERT)
    spert.widths.load_state_dict(base.widths.state_dict())
    batch, encoded = cases.batch_of(base), cases.encoded()
    vectors = base.represent(base.see(encoded, batch), batch.spans)
    own = spert.represent(spert.see(encoded, batch), batch.spans)
    assert torch.equal(vectors, torch.cat((encoded.sentence[batch.spans[:, 0]], own), dim=-1))


@torch.no_grad()
def test_the_base_of_pairs_sees_the_maximum_between_and_no_more() -> None:
    """Table 4: without both parts, a pair is the same wherever else the sentence changes."""
    base = cases.build(SPAN, pair_local=False, pair_context=False, span_context=False)
    batch, encoded = cases.batch_of(base), cases.encoded()
    spans, pairs = torch.tensor([[0, 1, 2], [0, 4, 6]]), torch.tensor([[0, 1]])
    before = base.score_pairs(base.see_pairs(base.see(encoded, batch), spans), pairs)
    encoded.words[0, [0, 6, 7, 8]] = 9.0
    assert torch.equal(base.score_pairs(base.see_pairs(base.see(encoded, batch), spans), pairs), before)
    encoded.words[0, 3] += 9.0
    assert not torch.equal(base.score_pairs(base.see_pairs(base.see(encoded, batch), spans), pairs), before)


@pytest.mark.parametrize(
    ("options", "least"),
    [
        ({}, 0.0),  # section 3.2: the best class, however sure
        ({"relation_activation": "sigmoid"}, 0.4),
        ({"relation_threshold": 0.7}, 0.7),
        ({"relation_activation": "sigmoid", "relation_threshold": 0.0}, 0.0),
    ],
    ids=str,
)
def test_the_threshold_of_relations_depends_on_their_activation(options: dict[str, Any], least: float) -> None:
    assert SPANConfig(**options).least_relation() == least


def test_with_softmax_only_the_best_class_is_ever_a_relation() -> None:
    model = cases.build(SPAN)
    scores = torch.tensor([[2.0, 1.9, 0.0], [0.0, 0.1, 0.2], [-1.0, 3.0, 2.9]])  # none, and two types
    probability = model.pair_probabilities(scores, torch.ones(3, 2, dtype=torch.bool))
    least = torch.zeros(2)
    assert (probability >= least).tolist() == [[False, False], [False, True], [True, False]]
    torch.testing.assert_close(probability[1, 1], scores[1].softmax(-1)[2])


def test_the_best_class_is_the_best_of_those_that_the_schema_allows() -> None:
    model = cases.build(SPAN)
    scores = torch.tensor([[0.0, 1.0, 2.0], [0.5, 0.0, 2.0]])
    allowed = torch.tensor([[True, False], [True, False]])
    probability = model.pair_probabilities(scores, allowed)
    assert (probability >= torch.zeros(2)).tolist() == [[True, False], [False, False]]
    torch.testing.assert_close(probability[0, 0], scores[0, :2].softmax(-1)[1])


def test_a_symmetric_relation_read_backwards_is_no_other_relation() -> None:
    model = cases.build(SPAN)
    model.may_hold = PairFilter(
        Schema(cases.SCHEMA.entities, (RelationType("of"), RelationType("with", symmetric=True)))
    )
    model.encoder.forward = lambda batch: Encoded(torch.randn(1, 5, cases.DIM), torch.randn(1, cases.DIM))
    model.score_pairs = lambda seen, pairs: torch.tensor([[0.0, 1.0, 2.0]]).expand(len(pairs), 3)  # none, of, with
    two = cases.example(cases.Marked(5, [(3, 4, 0), (0, 1, 1)], []))
    (prediction,) = model.relate(given([two], 0, 1), Least(torch.zeros(3), torch.zeros(2)))
    assert [relation[:3] for relation in prediction.relations] == [(1, 0, 1)]


def test_a_symmetric_relation_that_the_arguments_forbid_takes_no_pair_from_another() -> None:
    model = cases.build(SPAN)
    apart = RelationType("with", symmetric=True, head_types=("Dose",), tail_types=("Dose",))
    model.may_hold = PairFilter(Schema(cases.SCHEMA.entities, (RelationType("of"), apart)))
    model.encoder.forward = lambda batch: Encoded(torch.randn(1, 5, cases.DIM), torch.randn(1, cases.DIM))
    model.score_pairs = lambda seen, pairs: torch.tensor([[0.0, 1.0, 2.0]]).expand(len(pairs), 3)  # none, of, with
    two = cases.example(cases.Marked(5, [(3, 4, 0), (0, 1, 1)], []))
    (prediction,) = model.relate(given([two], 0, 1), Least(torch.zeros(3), torch.zeros(2)))
    assert [relation[:3] for relation in prediction.relations] == [(0, 1, 0), (1, 0, 0)]


def test_negatives_are_thirtyfold() -> None:
    candidates = cases.build(SPAN).candidates
    assert candidates.negatives == candidates.pairs == Negatives(30, per_gold=True)
    assert cases.build(SpERT).candidates.pairs == Negatives(100)


def test_the_weight_of_spans_in_the_loss_is_an_option() -> None:
    model = cases.build(SPAN, span_weight=0.25)
    batch = cases.batch_of(model, training=True)
    loss = model.loss(model.score(cases.encoded(), batch), batch)
    torch.testing.assert_close(loss.total, 0.25 * loss.terms["spans"] + 0.75 * loss.terms["pairs"])


@torch.no_grad()
@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_a_batch_without_pairs_has_a_loss_of_spans_alone(activation: str) -> None:
    model = cases.build(SPAN, relation_activation=activation)
    batch = cases.batch_of(model)
    loss = model.loss(model.score(cases.encoded(), batch), batch)
    assert loss.terms["pairs"] == 0
    assert loss.total == 0.4 * loss.terms["spans"]


@torch.no_grad()
def test_pairs_of_many_examples_in_several_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model, least = cases.build(SPAN, nested=True), Least(torch.zeros(3), torch.zeros(2))
    batch = cases.batch_of(model)
    scores = model.score(cases.encoded(), batch)
    whole = model.decode(scores, batch, least)
    monkeypatch.setattr(joint, "pairs_of", partial(pairs_of, at_once=7))
    blocks = model.decode(scores, batch, least)
    assert sum(len(prediction.relations) for prediction in whole) > 20
    for one, other in zip(whole, blocks, strict=True):
        assert one.spans == other.spans
        assert [r[:3] for r in one.relations] == [r[:3] for r in other.relations]
        assert [r.score for r in one.relations] == pytest.approx([r.score for r in other.relations], abs=1e-5)


@torch.no_grad()
def test_one_crowded_sentence_does_not_pad_all_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """19 sentences of two entities and one of thirty: 908 pairs, which must not become 20 times 870."""
    model, length = cases.build(SPAN), 30
    crowds = [length if row == 9 else 2 for row in range(20)]
    examples = [cases.example(cases.Marked(length, [(w, w + 1, 0) for w in range(n)], [])) for n in crowds]
    model.encoder.forward = lambda batch: Encoded(torch.randn(20, length, cases.DIM), torch.randn(20, cases.DIM))
    padded: list[int] = []
    pad = Packing.pad

    def watched(packing: Packing, rows: torch.Tensor) -> torch.Tensor:
        padded.append(len(packing.source) * packing.slots)
        return pad(packing, rows)

    monkeypatch.setattr(Packing, "pad", watched)
    model.relate(given(examples, 0, 1), Least(torch.zeros(3), torch.zeros(2)))
    assert max(padded) <= 3 * (19 * 2 + 30 * 29)


@pytest.mark.parametrize(
    "options",
    [{"attention": "local"}, {"heads": 0}, {"span_weight": 1.0}, {"relation_threshold": 1.5}, {"negative_pairs": 0}],
    ids=str,
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SPANConfig(**options)


def test_heads_that_do_not_divide_the_encoder_are_refused() -> None:
    with pytest.raises(RecipeError, match="3 heads do not divide the encoder's 8 units"):
        cases.build(SPAN, heads=3)
