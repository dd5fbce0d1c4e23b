"""The span Transformer: over which encoders, with which weights, how it learns, and in how many blocks of spans."""

from __future__ import annotations

from functools import partial
from typing import Any

import deep_cases as cases
import dspert_oracle as paper
import joint_oracle
import pytest
import torch
from torch import Tensor

from spanwise.decoding.spans import SpanRows
from spanwise.errors import EncoderError
from spanwise.nn import deep
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import TrainSection
from spanwise.training.optimization import optimizer_for

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}
EXACT: dict[str, Any] = {"atol": 1e-6, "rtol": 1e-6}
LAYERS = cases.LAYERS
BERT_LIKE_TYPES = ("Bert", "Roberta", "Electra", "RoFormer")
UNLIKE_BERT = ("DistilBert", "Albert", "Deberta", "DebertaV2")
IDLE = "key.bias"  # moves all scores of a query alike, so that nothing teaches it but rounding


@torch.no_grad()
def agrees_with_the_paper(pipeline: TorchPipeline) -> None:
    batch = cases.batch_of(pipeline)
    oracle = paper.DSpERT(pipeline.model)
    wanted = [{span: one.logits for span, one in oracle.score(s).items()} for s in cases.read(pipeline)]
    found = cases.logits_of(pipeline, batch).double()
    torch.testing.assert_close(found, cases.in_order(batch.proposals.spans, wanted), **CLOSE)


@pytest.mark.parametrize("options", [{}, {"shared": True, "depth": 2}], ids=str)
@pytest.mark.parametrize("family", BERT_LIKE_TYPES[1:])
def test_spans_pass_the_blocks_of_a_family(build: cases.Builder, family: str, options: dict[str, Any]) -> None:
    agrees_with_the_paper(build("dspert", family, **options))


@torch.no_grad()
@pytest.mark.parametrize("family", BERT_LIKE_TYPES)
def test_the_oracles_block_is_the_encoders_where_a_piece_sees_all_pieces(build: cases.Builder, family: str) -> None:
    """Eq. 1, so that eq. 3 is the same block: keys and queries turned by the places of their pieces."""
    pipeline = build("dspert", family, depth=0)
    transformer = pipeline.model.encoder.transformer
    blocks = paper.encoder_blocks(joint_oracle.weights_of(pipeline.model), transformer)
    pieces, _ = paper.pieces_of(pipeline.tokenizer, ["two", "of", "Mara"])
    output = transformer(input_ids=torch.tensor([pieces]), output_hidden_states=True)
    levels, places = [list(hidden[0].double()) for hidden in output.hidden_states], list(range(len(pieces)))
    for block, lower, upper in zip(blocks, levels[:-1], levels[1:], strict=True):
        found = [block(piece, lower, place, places) for place, piece in enumerate(lower)]
        torch.testing.assert_close(torch.stack(found), torch.stack(upper), **CLOSE)
    torch.testing.assert_close(torch.stack(levels[-1]), output.last_hidden_state[0].double())


@pytest.mark.parametrize("family", UNLIKE_BERT)
def test_a_family_with_other_blocks_is_refused_with_what_to_do(build: cases.Builder, family: str) -> None:
    with pytest.raises(EncoderError, match=r"cannot be built over '[-a-z0-9]+', .* set model\.depth to 0, or choose"):
        build("dspert", family)


@pytest.mark.parametrize("family", UNLIKE_BERT)
def test_a_family_with_other_blocks_is_read_shallowly(build: cases.Builder, family: str) -> None:
    agrees_with_the_paper(build("dspert", family, depth=0))


@pytest.mark.parametrize(
    ("family", "options"), [("RoFormer", {"rotary_value": True}), ("Bert", {"position_embedding_type": "relative_key"})]
)
def test_positions_that_spans_cannot_follow_are_refused(
    build: cases.Builder, family: str, options: dict[str, Any]
) -> None:
    with pytest.raises(EncoderError, match="is not supported by the span Transformer"):
        build("dspert", partial(cases.encoder_of, family, **options))


@torch.no_grad()
@pytest.mark.parametrize("shapes", [False, True])
@pytest.mark.parametrize("depth", [*range(LAYERS + 1), "all"])
def test_hidden_states_are_the_words_below_each_of_the_last_blocks(
    build: cases.Builder, depth: int | str, shapes: bool
) -> None:
    pipeline = build("dspert", depth=depth, encoder={"word_shapes": shapes})
    model: Any = pipeline.model
    words, number = cases.batch_of(pipeline).words, LAYERS if depth == "all" else int(depth)
    encoded = model.encoder(words, model.traits.hidden_states)
    assert model.traits.hidden_states == depth
    assert len(encoded.hidden_states) == number
    torch.testing.assert_close(encoded.words, model.encoder(words).words, **CLOSE)
    for row, sentence in enumerate(cases.read(pipeline)):
        below = sentence.levels[LAYERS - number :]  # and the top itself
        for found, wanted in zip((*encoded.hidden_states, encoded.words), below, strict=True):
            torch.testing.assert_close(found[row, : len(wanted)].double(), torch.stack(wanted), **CLOSE)
            assert (found[row, len(wanted) :] == 0).all()


def blocks_of(pipeline: TorchPipeline) -> list[tuple[Any, Any]]:
    """Each block of spans with the block of the encoder that it stands beside."""
    model: Any = pipeline.model
    above = list(model.encoder.transformer.encoder.layer)[LAYERS - model.depth :]
    return list(zip(model.span_blocks, above, strict=True))


def different(one: dict[str, Tensor], other: dict[str, Tensor]) -> set[str]:
    """The names of weights that are not equal."""
    assert one.keys() == other.keys()
    return {name for name, value in one.items() if not torch.equal(value, other[name])}


def taught(module: Any) -> dict[str, Any]:
    return {name: parameter for name, parameter in module.named_parameters() if not name.endswith(IDLE)}


@pytest.mark.parametrize("family", BERT_LIKE_TYPES)
@pytest.mark.parametrize("depth", range(1, LAYERS + 1))
def test_blocks_of_spans_begin_as_copies_of_the_encoders_topmost(build: cases.Builder, family: str, depth: int) -> None:
    pairs = blocks_of(build("dspert", family, depth=depth, fresh=True))
    assert len(pairs) == depth
    for own, above in pairs:
        assert different(own.state_dict(), above.state_dict()) == set()
        assert not {p.data_ptr() for p in own.parameters()} & {p.data_ptr() for p in above.parameters()}


def test_after_a_step_of_training_copies_and_encoder_have_gone_their_own_ways(build: cases.Builder) -> None:
    pipeline = build("dspert", fresh=True)
    before = {name: value.detach().clone() for name, value in taught(pipeline.model).items()}
    batch = cases.batch_of(pipeline, training=True)
    optimizer = optimizer_for(pipeline.model, TrainSection(encoder_lr=1e-3, task_lr=1e-3))
    pipeline.model.training_loss(batch).total.backward()
    optimizer.step()
    assert different(before, taught(pipeline.model)) == before.keys()
    for own, above in blocks_of(pipeline):
        assert different(taught(own), taught(above)) == taught(own).keys()


def test_shared_blocks_are_the_encoders_own(build: cases.Builder) -> None:
    shared, shallow = build("dspert", shared=True).model, build("dspert", depth=0).model
    assert [n for n, _ in shared.named_parameters()] == [n for n, _ in shallow.named_parameters()]


@pytest.mark.parametrize("shared", [False, True])
def test_wide_spans_teach_the_blocks_they_pass_and_single_words_the_encoders(
    build: cases.Builder, shared: bool
) -> None:
    """The encoder's last block has a part in wide spans only where it is shared."""
    pipeline = build("dspert", shared=shared)
    model: Any = pipeline.model
    batch = cases.batch_of(pipeline)
    top = taught(model.encoder.transformer.encoder.layer[-1])
    _, start, end = batch.proposals.spans.unbind(-1)
    wide = end - start > 1

    def learns(parameters: dict[str, Any], spans: Tensor) -> set[bool]:
        logits = model.rescore(model(batch).features, SpanRows(batch.proposals.spans[spans])).logits.square().sum()
        found = torch.autograd.grad(logits, list(parameters.values()), allow_unused=True)
        return {gradient is not None and bool(gradient.abs().max() > 1e-4) for gradient in found}

    assert learns(top, ~wide) == {True}
    assert learns(top, wide) == {shared}
    if not shared:
        assert learns(taught(model.span_blocks), wide) == {True}
        assert learns(taught(model.span_blocks), ~wide) == {False}


def gradients(pipeline: TorchPipeline) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits of the batch in double precision, and what a loss of them teaches each parameter."""
    torch.manual_seed(5)
    model: Any = pipeline.model.double()
    model.zero_grad()
    batch = cases.batch_of(pipeline)
    logits = model.rescore(model(batch).features, SpanRows(batch.proposals.spans)).logits
    logits.square().mean().backward()
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    return logits.detach(), found


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    ("block_size", "line", "recompute_above"),
    [(7, 64, 10**6), (7, 3, 10), (1, 64, 0), (10**6, 64, 10), (10**6, 1, 10**6)],
)
def test_blocks_of_spans_change_neither_scores_nor_gradients(
    build: cases.Builder,
    monkeypatch: pytest.MonkeyPatch,
    block_size: int,
    line: int,
    recompute_above: int,
    shared: bool,
) -> None:
    pipeline = build("dspert", shared=shared)
    monkeypatch.setattr(deep, "SPANS_PER_LINE", 10**6)
    logits, whole = gradients(pipeline)
    monkeypatch.setattr(deep, "SPANS_PER_LINE", line)
    monkeypatch.setattr(deep, "BLOCK_SIZE", block_size)
    monkeypatch.setattr(deep, "RECOMPUTE_ABOVE", recompute_above)
    again, parts = gradients(pipeline)
    torch.testing.assert_close(again, logits, **EXACT)
    assert parts.keys() == whole.keys()
    for name, gradient in parts.items():
        torch.testing.assert_close(gradient, whole[name], msg=name, **EXACT)


def test_recomputed_spans_meet_the_same_dropout(build: cases.Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = build("dspert")
    quiet, _ = gradients(pipeline)
    pipeline.model.train()
    monkeypatch.setattr(deep, "BLOCK_SIZE", 7)
    logits, kept = gradients(pipeline)
    assert (logits - quiet).abs().max() > 0.01
    monkeypatch.setattr(deep, "RECOMPUTE_ABOVE", 10)
    again, recomputed = gradients(pipeline)
    assert torch.equal(again, logits)
    for name, gradient in recomputed.items():
        torch.testing.assert_close(gradient, kept[name], msg=name, **EXACT)
