"""Bundling: both losses train one encoder with weight α on the tagger's, and only the reader is read out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from model_batches import batch_of
from spanwise.corpora import Corpus
from spanwise.errors import RecipeError
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.seam.batch import Batch
from spanwise.seam.bundle import Bundle
from spanwise.seam.module import Loss

PAIRS = [("seq-ner", "span-ner"), ("span-ner", "seq-ner")]
ALPHA = 0.3


def bundled(make_pipeline: Callable[..., TorchPipeline], reader: str, partner: str) -> TorchPipeline:
    """A bundle in training mode whose numbers no dropout disturbs."""
    pipeline = make_pipeline(reader, bundle={"name": partner, "alpha": ALPHA, "dropout": 0.0}, dropout=0.0)
    pipeline.model.train()
    pipeline.model.encoder.eval()
    return pipeline


def training_batch(pipeline: TorchPipeline, corpus: Corpus) -> Batch[Tensor]:
    return batch_of(pipeline, corpus.splits["train"], np.random.default_rng(0))


def alone(pipeline: TorchPipeline, batch: Batch[Tensor], name: str) -> Loss:
    """The loss of one member, computed for itself on the shared encoder."""
    model = pipeline.model
    assert isinstance(model, Bundle)
    own = {"seq-ner": "emit", "span-ner": "classify"}[name]
    loss: Loss = (
        model.reader.training_loss(batch)
        if hasattr(model.reader, own)
        else model.partner.training_loss(batch.for_partner())
    )
    return loss


@pytest.mark.parametrize(("reader", "partner"), PAIRS)
def test_loss_is_eq_19_whichever_reads(
    make_pipeline: Callable[..., TorchPipeline], flat_corpus: Corpus, reader: str, partner: str
) -> None:
    pipeline = bundled(make_pipeline, reader, partner)
    batch = training_batch(pipeline, flat_corpus)
    loss = pipeline.model.training_loss(batch)
    tags, spans = (alone(pipeline, batch, name).total.item() for name in ("seq-ner", "span-ner"))
    assert abs(tags - spans) > 0.05  # else the weights could be swapped unseen
    assert loss.total.item() == pytest.approx(ALPHA * tags + (1 - ALPHA) * spans, abs=1e-5)
    assert {name: term.item() for name, term in loss.terms.items()} == pytest.approx({"tags": tags, "spans": spans})


@pytest.mark.parametrize(("reader", "partner"), PAIRS)
def test_both_losses_train_the_shared_encoder(
    make_pipeline: Callable[..., TorchPipeline], flat_corpus: Corpus, reader: str, partner: str
) -> None:
    pipeline = bundled(make_pipeline, reader, partner)
    batch = training_batch(pipeline, flat_corpus)
    weight = pipeline.model.encoder.transformer.embeddings.word_embeddings.weight
    (whole,) = torch.autograd.grad(pipeline.model.training_loss(batch).total, weight)
    (tags,) = torch.autograd.grad(alone(pipeline, batch, "seq-ner").total, weight)
    (spans,) = torch.autograd.grad(alone(pipeline, batch, "span-ner").total, weight)
    assert tags.abs().max() > 1e-4
    assert spans.abs().max() > 1e-4
    torch.testing.assert_close(whole, ALPHA * tags + (1 - ALPHA) * spans, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("reader", "partner"), PAIRS)
def test_only_the_reader_is_read_out(
    make_pipeline: Callable[..., TorchPipeline], flat_corpus: Corpus, reader: str, partner: str
) -> None:
    pipeline = bundled(make_pipeline, reader, partner)
    documents = flat_corpus.splits["train"]
    found = pipeline.predict(documents)
    assert any(document.entities for document in found)
    model: Any = pipeline.model
    for parameter in model.partner.parameters():
        if not any(parameter is own for own in model.encoder.parameters()):
            parameter.data.fill_(9.0)
    assert pipeline.predict(documents) == found


def with_reader(pipeline: TorchPipeline, name: str) -> TorchPipeline:
    """The same weights with another member to read out."""
    blueprint = pipeline.blueprint.with_reader(name)
    other = TorchPipeline(blueprint, pipeline.schema, pipeline.model.encoder.transformer, pipeline.tokenizer)
    other.model.load_state_dict(pipeline.model.state_dict())
    return other


@pytest.mark.parametrize(("reader", "partner"), PAIRS)
def test_either_member_can_read_out(
    make_pipeline: Callable[..., TorchPipeline], flat_corpus: Corpus, reader: str, partner: str
) -> None:
    """Whoever is named reads, with its own candidates and decoder, as it does where it is the reader anyway."""
    pipeline = bundled(make_pipeline, reader, partner)
    documents = flat_corpus.splits["train"]
    first, second = (with_reader(pipeline, name) for name in (reader, partner))
    assert first.predict(documents) == pipeline.predict(documents)
    turned = make_pipeline(partner, bundle={"name": reader, "alpha": ALPHA, "dropout": 0.0}, dropout=0.0)
    model: Any = turned.model
    model.reader.load_state_dict(second.model.partner.state_dict())  # type: ignore[union-attr]
    found = second.predict(documents)
    assert found == turned.predict(documents)
    assert found != first.predict(documents)


def test_a_bundle_has_one_encoder(make_pipeline: Callable[..., TorchPipeline]) -> None:
    model: Any = bundled(make_pipeline, "seq-ner", "span-ner").model
    assert model.encoder is model.reader.encoder is model.partner.encoder
    names = [name for name, _ in model.named_parameters() if "word_embeddings" in name]
    assert names == ["encoder.transformer.embeddings.word_embeddings.weight"]


def test_candidates_of_the_span_model_are_in_a_training_batch_whichever_reads(
    make_pipeline: Callable[..., TorchPipeline], flat_corpus: Corpus
) -> None:
    spans_read, tags_read = (
        training_batch(bundled(make_pipeline, *names), flat_corpus) for names in (("span-ner", "seq-ner"), PAIRS[0])
    )
    assert len(spans_read.proposals.spans) > 50
    assert torch.equal(tags_read.for_partner().proposals.spans, spans_read.proposals.spans)
    assert len(tags_read.proposals.spans) == 0


def test_a_tagger_that_reads_out_needs_no_candidates(make_pipeline: Callable[..., TorchPipeline]) -> None:
    assert bundled(make_pipeline, "seq-ner", "span-ner").reader.proposer is None
    assert bundled(make_pipeline, "span-ner", "seq-ner").reader.proposer is not None


@pytest.mark.parametrize("name", ["seq-ner", "span-ner"])
def test_two_models_of_a_kind_are_not_bundled(make_pipeline: Callable[..., TorchPipeline], name: str) -> None:
    with pytest.raises(
        RecipeError, match=f"'{name}' cannot be bundled with '{name}'; bundle a span model with a tagger"
    ):
        make_pipeline(name, bundle={"name": name})


def test_nested_gold_trains_the_tagger_on_the_outermost_and_the_spans_on_all(
    make_pipeline: Callable[..., TorchPipeline], nested_corpus: Corpus
) -> None:
    pipeline = make_pipeline("span-ner", nested_corpus, bundle={"name": "seq-ner"}, nested=True)
    model: Any = pipeline.model
    batch = training_batch(pipeline, nested_corpus)
    entities, gold = sum(len(document.entities) for document in nested_corpus.splits["train"]), batch.require_gold()
    assert int(batch.proposals.labels.sum()) == len(gold.entities) == entities
    assert int(gold.outermost.sum()) == entities - 5
    outer = replace(gold, entities=gold.entities[gold.outermost], outermost=gold.outermost[gold.outermost])
    with torch.no_grad():
        learned = [model.partner.training_loss(replace(batch, gold=one)).total for one in (gold, outer)]
    assert learned[0] == learned[1]
