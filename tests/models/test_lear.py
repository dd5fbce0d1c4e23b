"""LEAR and its two peers beyond their equations: what a label's scores depend on, blocks, gradients, label texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pointer_cases as cases
import pytest
import torch
from torch import Tensor

from model_batches import at_least, predictions
from spanwise.decoding import pointers as pointer_decoding
from spanwise.decoding.pointers import PointerScores
from spanwise.document import Document
from spanwise.models import lear, qa
from spanwise.nn import blockwise, label_blocks, pointers
from spanwise.nn.labels import LabelTokens
from spanwise.pipeline import folder
from spanwise.pipeline.collate import collate
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.seam.batch import Batch
from spanwise.seam.module import Output
from spanwise.seam.registry import find_model

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}
ANY = at_least(0.0, 0.0, 0.0)
BESIDE = {"nested": True, "match_weight": 10.0}  # where gradients are of the size of the rest
MLP: dict[str, Any] = {**BESIDE, "matcher": "mlp"}
Build = Callable[..., TorchPipeline]


def trained(pipeline: TorchPipeline, batch: Batch[Tensor]) -> tuple[Output[Any, Any], dict[str, Tensor]]:
    """Stage one and the loss's gradients in training, without the encoder's dropout."""
    model: Any = pipeline.model.train()
    model.encoder.eval()
    model.zero_grad()
    output = model(batch)
    model.training_loss(batch).total.backward()
    model.eval()
    return output, {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


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
        (label_blocks, "lear", {}),
        (label_blocks, "lear", {"fusion": "sentence", **BESIDE}),
        (label_blocks, "lear", {"shared": True, **MLP}),
        (qa, "qa", {}),
        (qa, "qa", MLP),
    ],
    ids=["lear", "lear-sentence", "lear-shared-mlp", "qa", "qa-mlp"],
)
def test_labels_in_blocks_that_are_recomputed_have_the_same_scores_and_gradients(
    make_pipeline: Build, monkeypatch: pytest.MonkeyPatch, module: Any, model: str, options: dict[str, Any]
) -> None:
    pipeline = cases.build(make_pipeline, model, dropout=0.0, **options)
    batch = cases.batch_of(pipeline)
    recomputed = count_calls(monkeypatch, blockwise, "checkpoint")
    whole, gradients = trained(pipeline, batch)
    assert not recomputed
    monkeypatch.setattr(module, "BLOCK_SIZE", 1)
    in_blocks, of_blocks = trained(pipeline, batch)
    assert not recomputed
    monkeypatch.setattr(module, "RECOMPUTE_ABOVE", 0)
    again, of_again = trained(pipeline, batch)
    assert len(recomputed) == 6  # once per label, in each of two passes
    for found in (in_blocks, again):
        torch.testing.assert_close(found, whole, **CLOSE)
    for other in (of_blocks, of_again):
        assert gradients.keys() == other.keys()
        torch.testing.assert_close(other, gradients, **CLOSE)


@pytest.mark.parametrize("matcher", ["linear", "mlp"])
def test_pairs_of_words_in_blocks_have_the_same_loss_gradients_and_spans(
    make_pipeline: Build, monkeypatch: pytest.MonkeyPatch, matcher: str
) -> None:
    pipeline = cases.build(make_pipeline, "traditional", dropout=0.0, nested=True, matcher=matcher)
    batch, model = cases.batch_of(pipeline), pipeline.model
    _, gradients = trained(pipeline, batch)
    loss, spans = model.training_loss(batch).terms["matches"].item(), predictions(pipeline, batch, ANY)
    monkeypatch.setattr(pointers, "CELLS", 64)
    monkeypatch.setattr(pointer_decoding, "CELL_BLOCK_SIZE", 8)
    asked = count_calls(monkeypatch, model.matcher, "forward")
    assert model.training_loss(batch).terms["matches"].item() == pytest.approx(loss)
    in_training = len(asked)
    found = predictions(pipeline, batch, ANY)
    assert in_training > 10
    assert len(asked) - in_training > 3
    torch.testing.assert_close(trained(pipeline, batch)[1], gradients, **CLOSE)
    for one, other in zip(found, spans, strict=True):
        assert [span[:3] for span in one.spans] == [span[:3] for span in other.spans]
        assert [span.score for span in one.spans] == pytest.approx([span.score for span in other.spans])
    assert sum(len(prediction.spans) for prediction in spans) > 5


@torch.no_grad()
def scored(make_pipeline: Build, labels: dict[str, str], model: str, **options: Any) -> PointerScores[Tensor]:
    """Scores of the same sentences by the same weights with these labels."""
    pipeline = cases.build(make_pipeline, model, labels=labels, **options)
    documents = [document.with_annotations() for document in cases.corpus().splits["train"]]
    examples = [example for document in documents for example in pipeline.task.builder.examples(document)]
    batch = collate(examples, pipeline.pieces, None, labels=pipeline.task.labels).map(torch.from_numpy)
    scores: PointerScores[Tensor] = pipeline.model(batch).scores
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
    """So neither padding of descriptions nor any other label has an influence."""
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
    for one, other in zip(scores, changed, strict=True):
        torch.testing.assert_close(other[:, :, 1:], one[:, :, 1:], **CLOSE)
        assert (other[:, :, 0] - one[:, :, 0]).abs().max() > 0.1


@pytest.mark.parametrize("text", ["cowns and tountries", "towns", "towns, countries and what else there is on a map"])
def test_another_description_in_a_model_folder_is_read(make_pipeline: Build, tmp_path: Path, text: str) -> None:
    """As many word pieces, fewer, and more than all."""
    pipeline = cases.build(make_pipeline, "lear", labels=cases.LABELS | {"Dose": "towns and countries"})
    folder.save(pipeline, tmp_path)
    schema = json.loads((tmp_path / "schema.json").read_text())
    schema["entities"][2]["description"] = text
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    loaded = folder.load(tmp_path, verify=False)
    direct = cases.build(make_pipeline, "lear", labels=cases.LABELS | {"Dose": text})
    with torch.no_grad():
        before, found, wanted = (p.model(cases.batch_of(p)).scores.start for p in (pipeline, loaded, direct))
    torch.testing.assert_close(found, wanted, **CLOSE)
    assert (found - before)[:, :, 2].abs().max() > 1e-3


@torch.no_grad()
@pytest.mark.parametrize("model", ["lear", "qa"])
def test_a_batch_without_the_texts_of_the_labels_is_refused(make_pipeline: Build, model: str) -> None:
    pipeline = cases.build(make_pipeline, model)
    with pytest.raises(ValueError, match="this batch was made without the texts of the labels"):
        pipeline.model(replace(cases.batch_of(pipeline), labels=None))


@torch.no_grad()
@pytest.mark.parametrize("options", [{}, {"fusion": "sentence"}, {"knowledge": "embeddings"}, MLP], ids=str)
def test_labels_that_were_encoded_before_give_the_same_scores(make_pipeline: Build, options: dict[str, Any]) -> None:
    pipeline = cases.build(make_pipeline, "lear", **options)
    batch, model = cases.batch_of(pipeline), pipeline.model
    output, again = model(batch), model(replace(batch, labels=None), model.encode_labels(batch.labels))
    assert torch.equal(again.scores.start, output.scores.start)
    assert torch.equal(again.features.tails, output.features.tails)


def change_label_tokens(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[LabelTokens], Tensor], encode: Any = lear.encode_texts
) -> None:
    """From now on LEAR finds other vectors in its labels' texts."""

    def changed(*arguments: Any) -> LabelTokens:
        read = encode(*arguments)
        return LabelTokens(change(read), read.content)

    monkeypatch.setattr(lear, "encode_texts", changed)


@torch.no_grad()
@pytest.mark.parametrize("fusion", ["attention", "average"])
def test_special_and_padding_tokens_of_descriptions_are_never_looked_at(
    make_pipeline: Build, monkeypatch: pytest.MonkeyPatch, fusion: str
) -> None:
    pipeline = cases.build(make_pipeline, "lear", fusion=fusion)
    batch, model = cases.batch_of(pipeline), pipeline.model
    scores = model(batch).scores
    assert batch.labels is not None
    lengths = [len(pipeline.tokenizer.tokenize(text)) for text in cases.LABELS.values()]
    assert batch.labels.content.sum(1).tolist() == lengths
    assert batch.labels.content.shape[1] == max(lengths) + 2
    change_label_tokens(monkeypatch, lambda read: read.vectors.masked_fill(~read.content.unsqueeze(-1), 1e3))
    torch.testing.assert_close(model(batch).scores, scores, **CLOSE)
    change_label_tokens(monkeypatch, lambda read: read.vectors * (1 + 0.1 * read.content.unsqueeze(-1)))
    assert (model(batch).scores.start - scores.start).abs().max() > 1e-3


@torch.no_grad()
def test_the_sentence_variant_looks_at_the_first_special_token_alone(
    make_pipeline: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = cases.build(make_pipeline, "lear", fusion="sentence")
    batch, model = cases.batch_of(pipeline), pipeline.model
    scores = model(batch).scores

    def others(read: LabelTokens) -> Tensor:
        return torch.cat((read.vectors[:, :1], torch.full_like(read.vectors[:, 1:], 1e3)), dim=1)

    change_label_tokens(monkeypatch, others)
    torch.testing.assert_close(model(batch).scores, scores, **CLOSE)
    change_label_tokens(monkeypatch, lambda read: read.vectors * 1.1)
    assert (model(batch).scores.start - scores.start).abs().max() > 1e-3


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
    pipeline = cases.build(make_pipeline, "lear", dropout=0.0)
    batch = cases.batch_of(pipeline)
    _, gradients = trained(pipeline, batch)
    assert batch.labels is not None
    described = set(batch.labels.pieces[batch.labels.content].tolist())
    only_there = described - set(batch.words.pieces.flatten().tolist())
    rows = gradients["encoder.transformer.embeddings.word_embeddings.weight"][sorted(only_there)]
    assert len(rows) > 0
    assert (rows.abs().sum(1) > 0).all()


def test_questions_and_texts_fit_the_encoder_together(make_pipeline: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny encoder has 96 positions, of which the longest question takes its share; the rest is the text's."""
    pipeline = cases.build(make_pipeline, "qa")
    encoder: Any = pipeline.model.encoder
    hidden, lengths = encoder.hidden, []

    def watched(pieces: Tensor, *others: Any) -> Any:
        lengths.append(pieces.shape[1])
        return hidden(pieces, *others)

    monkeypatch.setattr(encoder, "hidden", watched)
    words = ["the", "of", "in", "met"] * 60
    found = pipeline.predict([Document.from_words(words)])[0]
    assert 90 < max(lengths) <= 96
    assert any(entity.start > len(" ".join(words)) / 2 for entity in found.entities)


@pytest.mark.parametrize("model", ["lear", "qa", "traditional"])
def test_a_flat_model_has_one_stage(make_pipeline: Build, model: str) -> None:
    pipeline = cases.build(make_pipeline, model)
    batch = cases.batch_of(pipeline)
    output: Any = pipeline.model(batch)
    assert pipeline.model.training_rows(output, batch) is None
    assert output.features.heads.numel() == output.features.tails.numel() == 0
    with pytest.raises(TypeError, match="without nested there is one stage"):
        pipeline.model.rescore(output.features, ())


@pytest.mark.parametrize("model", ["lear", "qa", "traditional"])
def test_options_of_the_matcher_do_not_tell_flat_models_apart(model: str) -> None:
    config = find_model(model).Config
    options: dict[str, Any] = {"matcher": "mlp", "pointer_weight": 0.5, "match_weight": 7.0}
    assert config(**options) == config()
    nested = config(nested=True, **options)
    assert {name: getattr(nested, name) for name in options} == options
    assert nested != config(nested=True)
    with pytest.raises(ValueError, match="match_weight"):
        config(match_weight=-1.0)
