"""SPAN beyond its formulas: what its base sees, how many negatives, its weights in the loss, options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import joint_cases as cases
import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from invented_examples import PIECES
from spanwise.decoding import pairs as pair_decoding
from spanwise.decoding.pairs import PairDecoder, PairRows
from spanwise.errors import RecipeError
from spanwise.models.span import SPAN, SPANConfig
from spanwise.models.spert import SpERT
from spanwise.nn.packing import Packing
from spanwise.pipeline.collate import collate, collate_given_entities
from spanwise.pipeline.torch_runner import TorchRunner
from spanwise.seam.decoder import ScoreThresholds
from spanwise.seam.encoding import Encoded
from spanwise.seam.proposals import Negatives, SpanProposer
from spanwise.seam.runner import run_stages

ANY = ScoreThresholds(np.zeros(3, np.float32), np.zeros(2, np.float32))


@torch.no_grad()
def test_the_base_of_spans_sees_exactly_what_spert_sees() -> None:
    """Table 3: without both parts, R_s is the sentence's vector, the maximum over the span, and its width."""
    base = cases.build(SPAN, span_specific=False, span_context=False)
    spert = cases.build(SpERT)
    spert.widths.load_state_dict(base.widths.state_dict())
    batch, encoded = cases.batch_of(base), cases.encoded()
    spans = batch.proposals.spans
    vectors = base.represent(base.features(encoded, batch), spans)
    own = spert.represent(encoded.words, spans)
    assert torch.equal(vectors, torch.cat((encoded.sentence[spans[:, 0]], own), dim=-1))


@torch.no_grad()
def test_the_base_of_pairs_sees_the_maximum_between_and_no_more() -> None:
    """Table 4: without both parts, a pair is the same wherever else the sentence changes."""
    base = cases.build(SPAN, pair_local=False, pair_context=False, span_context=False)
    batch, encoded = cases.batch_of(base), cases.encoded()
    rows = PairRows(torch.tensor([[0, 1, 2], [0, 4, 6]]), torch.tensor([[0, 1]]))

    def scores() -> Tensor:
        logits: Tensor = base.rescore(base.score(encoded, batch).features, rows).logits
        return logits

    before = scores()
    encoded.words[0, [0, 6, 7, 8]] = 9.0
    assert torch.equal(scores(), before)
    encoded.words[0, 3] += 9.0
    assert not torch.equal(scores(), before)


@pytest.mark.parametrize(
    ("options", "lowest"),
    [
        ({}, 0.0),  # section 3.2: the best class, however probable
        ({"relation_activation": "sigmoid"}, 0.4),
        ({"relation_threshold": 0.7}, 0.7),
        ({"relation_activation": "sigmoid", "relation_threshold": 0.0}, 0.0),
    ],
    ids=str,
)
def test_the_threshold_of_relations_depends_on_their_activation(options: dict[str, Any], lowest: float) -> None:
    assert SPANConfig(**options).traits().relation_threshold == lowest


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_the_decoder_has_the_activation_of_the_relations(activation: Any) -> None:
    decoder = cases.build(SPAN, relation_activation=activation).config.decoder(cases.SCHEMA)
    assert isinstance(decoder, PairDecoder)
    assert decoder.activation == activation
    assert cases.build(SpERT).config.decoder(cases.SCHEMA).activation == "sigmoid"


def test_negatives_are_thirtyfold() -> None:
    proposer, other = (cases.build(model).config.proposer(cases.SCHEMA) for model in (SPAN, SpERT))
    assert isinstance(proposer, SpanProposer)
    assert proposer.negatives == proposer.pairs == Negatives(30, per_gold=True)
    assert other.negatives == other.pairs == Negatives(100)


def test_the_weight_of_spans_in_the_loss_is_an_option() -> None:
    model = cases.build(SPAN, span_weight=0.25)
    loss = model.training_loss(cases.batch_of(model, training=True))
    torch.testing.assert_close(loss.total, 0.25 * loss.terms["spans"] + 0.75 * loss.terms["pairs"])


@torch.no_grad()
@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_a_batch_without_pairs_has_a_loss_of_spans_alone(activation: str) -> None:
    model = cases.build(SPAN, relation_activation=activation)
    batch = cases.batch_of(model, training=True)
    none = replace(batch.proposals, pairs=batch.proposals.pairs[:0], relations=batch.proposals.relations[:0])
    loss = model.training_loss(replace(batch, proposals=none))
    assert loss.terms["pairs"] == 0
    assert loss.total == 0.4 * loss.terms["spans"]


def in_blocks_of(number: int) -> Any:
    pairs = PairDecoder.pairs

    def cut(self: PairDecoder, found: Any) -> Iterator[Any]:
        yield from pairs(self, found, number)

    return cut


def test_pairs_of_many_examples_in_several_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = cases.build(SPAN, nested=True)
    whole = cases.predictions(model, ANY)
    monkeypatch.setattr(pair_decoding.PairDecoder, "pairs", in_blocks_of(7))
    blocks = cases.predictions(model, ANY)
    assert sum(len(prediction.relations) for prediction in whole) > 20
    for one, other in zip(whole, blocks, strict=True):
        assert one.spans == other.spans
        assert [r[:3] for r in one.relations] == [r[:3] for r in other.relations]
        assert [r.score for r in one.relations] == pytest.approx([r.score for r in other.relations], abs=1e-5)


def test_one_crowded_sentence_does_not_pad_all_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """19 sentences of two entities and one of thirty: 908 pairs, which must not become 20 times 870."""
    model, length = cases.build(SPAN), 30
    crowds = [length if row == 9 else 2 for row in range(20)]
    examples = [cases.example(cases.Marked(length, [(w, w + 1, 0) for w in range(n)], [])) for n in crowds]
    vectors = Encoded(torch.randn(20, length, cases.DIM), torch.randn(20, cases.DIM))
    monkeypatch.setattr(model.encoder, "forward", lambda words, hidden_states: vectors)
    padded: list[int] = []
    pad = Packing.pad

    def watched(packing: Packing, rows: torch.Tensor) -> torch.Tensor:
        padded.append(len(packing.source) * packing.slots)
        return pad(packing, rows)

    monkeypatch.setattr(Packing, "pad", watched)
    batch, decoder = collate(examples, PIECES, None), model.config.decoder(cases.SCHEMA)
    run_stages(TorchRunner(model), decoder, batch, ANY, collate_given_entities(examples))
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
