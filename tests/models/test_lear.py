"""LEAR and its two peers beyond their equations: what a label's scores depend on, blocks, gradients, and flat spans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pointer_cases as cases
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from spanwise.document import Document
from spanwise.models import lear, pointing, qa
from spanwise.models.base import Least
from spanwise.models.lear import LEAR, LEARConfig
from spanwise.models.pointing import PointerConfig, PointerScores
from spanwise.models.registry import find
from spanwise.models.traditional import Traditional
from spanwise.nn.batch import Batch
from spanwise.nn.labels import LabelReader
from spanwise.pipeline import Pipeline

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}
ANY_SURE = Least(torch.zeros(3), torch.zeros(0))
BESIDE = {"nested": True, "match_weight": 10.0}  # where gradients are of the size of the rest
MLP: dict[str, Any] = {**BESIDE, "matcher": "mlp"}
Build = Callable[..., Pipeline]


def trained(pipeline: Pipeline, batch: Batch) -> tuple[PointerScores, dict[str, Tensor]]:
    """Scores and gradients in training, without the encoder's dropout."""
    model = pipeline.model.train()
    model.encoder.eval()
    model.zero_grad()
    scores = model(batch)
    model.loss(scores, batch).total.backward()
    model.eval()
    return scores, {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def count_calls(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[None]:
    calls: list[None] = []
    called = getattr(module, name)

    def counted(*arguments: Any, **options: Any) -> Any:
        calls.append(None)
        return called(*arguments, **options)

    monkeypatch.setattr(module, name, counted)
    return calls


@pytest.mark.parametrize(
    ("module", "model", "options"),
    [
        (lear, "lear", {}),
        (lear, "lear", {"fusion": "sentence", **BESIDE}),
        (lear, "lear", {"shared": True, **MLP}),
        (qa, "qa", {}),
        (qa, "qa", MLP),
    ],
    ids=["lear", "lear-sentence", "lear-shared-mlp", "qa", "qa-mlp"],
)
def test_labels_in_blocks_that_are_computed_again_have_the_same_scores_and_gradients(
    make_pipeline: Build, monkeypatch: pytest.MonkeyPatch, module: Any, model: str, options: dict[str, Any]
) -> None:
    pipeline = cases.build(make_pipeline, model, dropout=0.0, **options)
    batch = cases.batch_of(pipeline)
    again = count_calls(monkeypatch, module, "checkpoint")
    scores, gradients = trained(pipeline, batch)
    assert not again
    monkeypatch.setattr(module, "AT_ONCE", 1)
    in_blocks, of_blocks = trained(pipeline, batch)
    assert not again
    monkeypatch.setattr(module, "KEPT", 0)
    anew, of_anew = trained(pipeline, batch)
    assert len(again) == 3  # once per label
    for found in (in_blocks, anew):
        torch.testing.assert_close(found, scores, **CLOSE)
    for other in (of_blocks, of_anew):
        assert gradients.keys() == other.keys()
        torch.testing.assert_close(other, gradients, **CLOSE)


@pytest.mark.parametrize("matcher", ["linear", "mlp"])
def test_pairs_of_words_in_blocks_have_the_same_loss_gradients_and_spans(
    make_pipeline: Build, monkeypatch: pytest.MonkeyPatch, matcher: str
) -> None:
    pipeline = cases.build(make_pipeline, "traditional", dropout=0.0, nested=True, matcher=matcher)
    batch = cases.batch_of(pipeline)
    scores, gradients = trained(pipeline, batch)
    scores = PointerScores(*(part.detach() for part in scores))
    model: Any = pipeline.model
    with torch.no_grad():
        loss, spans = model.loss(scores, batch).terms["matches"].item(), model.decode(scores, batch, ANY_SURE)
    asked = count_calls(monkeypatch, model.matcher, "forward")
    monkeypatch.setattr(pointing, "CELLS", 64)
    with torch.no_grad():
        assert model.loss(scores, batch).terms["matches"].item() == pytest.approx(loss)
        found = model.decode(scores, batch, ANY_SURE)
    assert len(asked) > 10
    torch.testing.assert_close(trained(pipeline, batch)[1], gradients, **CLOSE)
    for one, other in zip(found, spans, strict=True):
        assert [span[:3] for span in one.spans] == [span[:3] for span in other.spans]
        assert [span.score for span in one.spans] == pytest.approx([span.score for span in other.spans])
    assert sum(len(prediction.spans) for prediction in spans) > 5


@torch.no_grad()
def scored(make_pipeline: Build, labels: dict[str, str], model: str, **options: Any) -> PointerScores:
    """Scores of the same sentences by the same weights with these labels."""
    pipeline = cases.build(make_pipeline, model, labels=labels, **options)
    documents = [document.with_annotations() for document in cases.corpus().splits["train"]]
    examples = [example for group in pipeline.builder.build(documents, gold=False) for example in group]
    scores: PointerScores = pipeline.model(pipeline.collate(examples))
    return scores


SHARED = [
    ("lear", {"shared": True}),
    ("lear", {"shared": True, "fusion": "average", "nested": True}),
    ("lear", {"shared": True, "fusion": "sentence", **MLP}),
    ("lear", {"shared": True, "knowledge": "names"}),
    ("qa", {}),
    ("qa", MLP),
]


@pytest.mark.parametrize(("model", "options"), SHARED, ids=str)
def test_labels_in_another_order_have_the_same_scores_in_that_order(
    make_pipeline: Build, model: str, options: dict[str, Any]
) -> None:
    names = list(cases.LABELS)
    order = [2, 0, 1]
    scores = scored(make_pipeline, cases.LABELS, model, **options)
    turned = scored(make_pipeline, {names[i]: cases.LABELS[names[i]] for i in order}, model, **options)
    for one, other in zip(scores, turned, strict=True):
        torch.testing.assert_close(one[:, :, order], other, **CLOSE)
    assert (scores.start - turned.start).abs().max() > 0.1


@pytest.mark.parametrize(("model", "options"), SHARED, ids=str)
def test_a_label_scores_as_it_does_beside_one_more_and_longer_label(
    make_pipeline: Build, model: str, options: dict[str, Any]
) -> None:
    """So padding of descriptions says nothing, and neither does any other label."""
    scores = scored(make_pipeline, cases.LABELS, model, **options)
    more = cases.LABELS | {"A Place of Many Words": "towns and countries and all the rest"}
    beside = scored(make_pipeline, more, model, **options)
    assert beside.start.shape[2] == 4
    for one, other in zip(scores, beside, strict=True):
        torch.testing.assert_close(other[:, :, :3], one, **CLOSE)


@pytest.mark.parametrize(
    ("model", "options"), [("lear", {}), ("lear", {"fusion": "average"}), ("lear", {"fusion": "sentence"}), ("qa", {})]
)
def test_another_description_changes_the_scores_of_its_own_label_alone(
    make_pipeline: Build, model: str, options: dict[str, Any]
) -> None:
    scores = scored(make_pipeline, cases.LABELS, model, **options)
    changed = scored(make_pipeline, cases.LABELS | {"Drug": "towns, by name, and all there is"}, model, **options)
    for one, other in zip(scores[:2], changed[:2], strict=True):
        torch.testing.assert_close(other[:, :, 1:], one[:, :, 1:], **CLOSE)
        assert (other[:, :, 0] - one[:, :, 0]).abs().max() > 0.1


def reader_of(pipeline: Pipeline) -> LabelReader:
    (reader,) = (module for module in pipeline.model.modules() if isinstance(module, LabelReader))
    return reader


@torch.no_grad()
@pytest.mark.parametrize("fusion", ["attention", "average"])
def test_special_and_padding_tokens_of_descriptions_are_never_looked_at(make_pipeline: Build, fusion: str) -> None:
    pipeline = cases.build(make_pipeline, "lear", fusion=fusion)
    model, reader = pipeline.model, reader_of(pipeline)
    batch = cases.batch_of(pipeline)
    scores = model(batch)
    own = reader.content
    lengths = [len(pipeline.tokenizer.tokenize(text)) for text in cases.LABELS.values()]
    assert own.sum(1).tolist() == lengths
    assert own.shape[1] == max(lengths) + 2
    reader.read[~own] = 1e3
    torch.testing.assert_close(model(batch), scores, **CLOSE)
    reader.read[own] *= 1.1
    assert (model(batch).start - scores.start).abs().max() > 1e-3


@torch.no_grad()
def test_the_sentence_variant_looks_at_the_first_special_token_alone(make_pipeline: Build) -> None:
    pipeline = cases.build(make_pipeline, "lear", fusion="sentence")
    model, reader = pipeline.model, reader_of(pipeline)
    batch = cases.batch_of(pipeline)
    scores = model(batch)
    reader.read[:, 1:] = 1e3
    torch.testing.assert_close(model(batch), scores, **CLOSE)
    reader.read[:, 0] *= 1.1
    assert (model(batch).start - scores.start).abs().max() > 1e-3


@torch.no_grad()
def test_label_embeddings_begin_as_the_mean_of_their_names_pieces(make_pipeline: Build) -> None:
    """The paper begins with GloVe's vectors; here the encoder's own are at hand."""
    pipeline: Any = make_pipeline("lear", cases.corpus(), knowledge="embeddings")
    table = pipeline.model.encoder.transformer.get_input_embeddings().weight
    for row, name in zip(pipeline.model.embedding.weight, cases.LABELS, strict=True):
        pieces = pipeline.tokenizer(name, add_special_tokens=False)["input_ids"]
        assert len(pieces) > 1
        torch.testing.assert_close(row, sum(table[piece] for piece in pieces) / len(pieces), **CLOSE)


def test_training_teaches_the_encoder_to_read_descriptions(make_pipeline: Build) -> None:
    pipeline: Any = cases.build(make_pipeline, "lear", dropout=0.0)
    batch = cases.batch_of(pipeline)
    _, gradients = trained(pipeline, batch)
    reader = reader_of(pipeline)
    only_there = set(reader.pieces[reader.content].tolist()) - set(batch.pieces.flatten().tolist())
    rows = gradients["encoder.transformer.embeddings.word_embeddings.weight"][sorted(only_there)]
    assert len(rows) > 0
    assert (rows.abs().sum(1) > 0).all()


def test_a_model_that_never_read_its_labels_says_so() -> None:
    encoder: Any = torch.nn.Module()
    encoder.dim = 4
    with pytest.raises(ValueError, match="never read: call read_labels"):
        LEAR(encoder, LEARConfig(), cases.corpus().schema).tokens()


def test_questions_and_texts_fit_the_encoder_together(make_pipeline: Build) -> None:
    """The tiny encoder has 96 positions, of which the longest question takes its share; the rest is the text's."""
    pipeline = cases.build(make_pipeline, "qa")
    encoder: Any = pipeline.model.encoder
    hidden, lengths = encoder.hidden, []

    def watched(pieces: Tensor, *others: Any) -> Any:
        lengths.append(pieces.shape[1])
        return hidden(pieces, *others)

    encoder.hidden = watched
    words = ["the", "of", "in", "met"] * 60
    found = pipeline.predict([Document.from_words(words)])[0]
    assert 90 < max(lengths) <= 96
    assert any(entity.start > len(" ".join(words)) / 2 for entity in found.entities)


@pytest.fixture(scope="module")
def models() -> dict[str, Traditional]:
    """Decoding is the same for all three."""
    encoder: Any = torch.nn.Module()
    encoder.dim = 4
    options: dict[str, dict[str, Any]] = {
        "heuristic": {},
        "nearest": {"matching": "nearest"},
        "nested": {"nested": True},
    }
    schema = cases.corpus().schema
    return {name: Traditional(encoder, PointerConfig(**more), schema).eval() for name, more in options.items()}


def random_scores(seed: int, share: int) -> PointerScores:
    generator = torch.Generator().manual_seed(seed)
    start, end, *shares = (torch.randn(5, 10, 3, generator=generator) for _ in range(2 + 2 * share))
    heads, tails = (part.unsqueeze(-1) for part in shares) if share else (start.new_zeros(5, 10, 3, 0),) * 2
    return PointerScores(start, end, heads, tails)


@pytest.fixture(scope="module")
def batch(make_pipeline: Build) -> Batch:
    return cases.batch_of(cases.build(make_pipeline, "traditional"))


@given(seed=st.integers(0, 2**32), matching=st.sampled_from(["heuristic", "nearest"]))
def test_flat_spans_never_overlap_and_lie_inside_their_sentence(
    models: dict[str, Traditional], batch: Batch, seed: int, matching: str
) -> None:
    predictions = models[matching].decode(random_scores(seed, 0), batch, ANY_SURE)
    assert any(prediction.spans for prediction in predictions)
    for prediction, length in zip(predictions, batch.word_mask.sum(1).tolist(), strict=True):
        words = [word for span in prediction.spans for word in range(span.start, span.end)]
        assert len(words) == len(set(words))
        assert set(words) <= set(range(length))


@torch.no_grad()
def test_nested_spans_of_one_label_may_lie_in_each_other_and_inside_their_sentence(
    models: dict[str, Traditional], batch: Batch
) -> None:
    predictions = models["nested"].decode(random_scores(5, 1), batch, ANY_SURE)
    inside = 0
    for prediction, length in zip(predictions, batch.word_mask.sum(1).tolist(), strict=True):
        for one in prediction.spans:
            assert 0 <= one.start < one.end <= length
            others = [s for s in prediction.spans if s.label == one.label and s[:2] != one[:2]]
            inside += any(one.start <= other.start and other.end <= one.end for other in others)
        assert len({span[:3] for span in prediction.spans}) == len(prediction.spans)
    assert inside > 3


@pytest.mark.parametrize(("matching", "end"), [("heuristic", 3), ("nearest", 2)])
def test_a_start_takes_the_surest_end_or_the_nearest(
    models: dict[str, Traditional], batch: Batch, matching: str, end: int
) -> None:
    scores = random_scores(0, 0)
    scores.start.fill_(-9.0)
    scores.end.fill_(-9.0)
    scores.start[0, 0, 1], scores.end[0, 1, 1], scores.end[0, 2, 1] = 3.0, 1.0, 2.0
    first, *others = models[matching].decode(scores, batch, ANY_SURE)
    assert [span[:3] for span in first.spans] == [(0, end, 1)]
    assert not any(prediction.spans for prediction in others)


def test_where_no_word_is_likely_nothing_is_found(models: dict[str, Traditional], batch: Batch) -> None:
    for name, model in models.items():
        scores = random_scores(0, int(name == "nested"))
        low = scores._replace(start=scores.start - 50)
        assert [p.spans for p in model.decode(low, batch, ANY_SURE)] == [()] * 5


@pytest.mark.parametrize("model", ["lear", "qa", "traditional"])
def test_options_of_the_matcher_do_not_tell_flat_models_apart(model: str) -> None:
    config = find(model).Config
    told: dict[str, Any] = {"matcher": "mlp", "pointer_weight": 0.5, "match_weight": 7.0}
    assert config(**told) == config()
    nested = config(nested=True, **told)
    assert {name: getattr(nested, name) for name in told} == told
    assert nested != config(nested=True)
    with pytest.raises(ValueError, match="match_weight"):
        config(match_weight=-1.0)
