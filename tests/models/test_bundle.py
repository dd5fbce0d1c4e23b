"""Bundling: both losses train one encoder with weight α on the tagger's, and only the reader is read out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from spanwise.corpora import Corpus
from spanwise.errors import RecipeError
from spanwise.models.base import Loss
from spanwise.nn.batch import Batch
from spanwise.pipeline import Pipeline

PAIRS = [("seq-ner", "span-ner"), ("span-ner", "seq-ner")]
ALPHA = 0.3


def bundled(make_pipeline: Callable[..., Pipeline], reader: str, partner: str) -> Pipeline:
    """A bundle in training mode whose numbers no dropout disturbs."""
    pipeline = make_pipeline(reader, bundle={"name": partner, "alpha": ALPHA, "dropout": 0.0}, dropout=0.0)
    pipeline.model.train()
    pipeline.model.encoder.eval()
    return pipeline


def training_batch(pipeline: Pipeline, corpus: Corpus) -> Batch:
    examples = [e for group in pipeline.builder.build(corpus.splits["train"], gold=True) for e in group]
    return pipeline.collate(examples, rng=np.random.default_rng(0))


def alone(pipeline: Pipeline, batch: Batch, name: str) -> Loss:
    """The loss of one member, scored for itself on the shared encoder."""
    members = {"seq-ner": "emit", "span-ner": "classify"}
    member = next(m for m in (pipeline.model.reader, pipeline.model.partner) if hasattr(m, members[name]))
    return member.loss(member.score(pipeline.model.encoder(batch), batch), batch)


@pytest.mark.parametrize(("reader", "partner"), PAIRS)
def test_loss_is_eq_19_whichever_reads(
    make_pipeline: Callable[..., Pipeline], flat_corpus: Corpus, reader: str, partner: str
) -> None:
    pipeline = bundled(make_pipeline, reader, partner)
    batch = training_batch(pipeline, flat_corpus)
    loss = pipeline.model.loss(pipeline.model(batch), batch)
    tags, spans = (alone(pipeline, batch, name).total.item() for name in ("seq-ner", "span-ner"))
    assert abs(tags - spans) > 0.05  # else the weights could be swapped unseen
    assert loss.total.item() == pytest.approx(ALPHA * tags + (1 - ALPHA) * spans, abs=1e-5)
    assert {name: term.item() for name, term in loss.terms.items()} == pytest.approx({"tags": tags, "spans": spans})


@pytest.mark.parametrize(("reader", "partner"), PAIRS)
def test_both_losses_train_the_shared_encoder(
    make_pipeline: Callable[..., Pipeline], flat_corpus: Corpus, reader: str, partner: str
) -> None:
    pipeline = bundled(make_pipeline, reader, partner)
    batch = training_batch(pipeline, flat_corpus)
    weight = pipeline.model.encoder.transformer.embeddings.word_embeddings.weight
    (whole,) = torch.autograd.grad(pipeline.model.loss(pipeline.model(batch), batch).total, weight)
    (tags,) = torch.autograd.grad(alone(pipeline, batch, "seq-ner").total, weight)
    (spans,) = torch.autograd.grad(alone(pipeline, batch, "span-ner").total, weight)
    assert tags.abs().max() > 1e-4
    assert spans.abs().max() > 1e-4
    torch.testing.assert_close(whole, ALPHA * tags + (1 - ALPHA) * spans, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("reader", "partner"), PAIRS)
def test_only_the_reader_is_read_out(
    make_pipeline: Callable[..., Pipeline], flat_corpus: Corpus, reader: str, partner: str
) -> None:
    pipeline = bundled(make_pipeline, reader, partner)
    documents = flat_corpus.splits["train"]
    found = pipeline.predict(documents)
    for parameter in pipeline.model.partner.parameters():
        if not any(parameter is own for own in pipeline.model.encoder.parameters()):
            parameter.data.fill_(9.0)
    assert pipeline.predict(documents) == found
    pipeline.model = pipeline.model.reader
    assert pipeline.predict(documents) == found


def test_a_bundle_has_one_encoder(make_pipeline: Callable[..., Pipeline]) -> None:
    model = bundled(make_pipeline, "seq-ner", "span-ner").model
    assert model.encoder is model.reader.encoder is model.partner.encoder
    names = [name for name, _ in model.named_parameters() if "word_embeddings" in name]
    assert names == ["encoder.transformer.embeddings.word_embeddings.weight"]


def test_a_tagger_that_reads_out_asks_for_no_spans_at_work(make_pipeline: Callable[..., Pipeline]) -> None:
    model = bundled(make_pipeline, "seq-ner", "span-ner").model
    assert model.candidates is not None
    assert model.eval().candidates is None


def test_a_span_model_that_reads_out_always_asks_for_spans(make_pipeline: Callable[..., Pipeline]) -> None:
    model = bundled(make_pipeline, "span-ner", "seq-ner").model
    assert model.candidates == model.eval().candidates == model.reader.candidates


@pytest.mark.parametrize("name", ["seq-ner", "span-ner"])
def test_two_models_of_a_kind_are_not_bundled(make_pipeline: Callable[..., Pipeline], name: str) -> None:
    with pytest.raises(
        RecipeError, match=f"'{name}' cannot be bundled with '{name}'; bundle a span model with a tagger"
    ):
        make_pipeline(name, bundle={"name": name})


def test_nested_gold_trains_the_tagger_on_the_outermost_and_the_spans_on_all(
    make_pipeline: Callable[..., Pipeline], nested_corpus: Corpus
) -> None:
    pipeline = make_pipeline("span-ner", nested_corpus, bundle={"name": "seq-ner"}, nested=True)
    pipeline.model.train()
    batch = training_batch(pipeline, nested_corpus)
    entities = sum(len(document.entities) for document in nested_corpus.splits["train"])
    assert int((batch.span_labels > 0).sum()) == len(batch.gold) == entities
    assert int(batch.gold_flat.sum()) == entities - 5
    outer = replace(batch, gold=batch.gold[batch.gold_flat], gold_flat=batch.gold_flat[batch.gold_flat])
    scores = torch.randn(*batch.word_mask.shape, 7)
    assert pipeline.model.partner.loss(scores, batch).total == pipeline.model.partner.loss(scores, outer).total
