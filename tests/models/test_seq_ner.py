"""SeqNER against the paper's equations as loops, with both ways of tagging, in batches of different lengths."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

import bl_ner_oracle as paper
from model_batches import at_least, batch_of, predictions
from spanwise.corpora import Corpus
from spanwise.decoding.tags import TagScores
from spanwise.document import Document
from spanwise.nn.tags import bio_tags
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.schema import EntityType, Schema
from spanwise.seam.decoder import NoRows
from spanwise.seam.module import Output
from spanwise.text.alignment import word_spans

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture(scope="module")
def tagger(make_pipeline: Callable[..., TorchPipeline]) -> TorchPipeline:
    return make_pipeline("seq-ner", encoder={"word_shapes": False})


@pytest.fixture(scope="module")
def short_corpus() -> Corpus:
    """One label and at most five words, so that all chains of tags can be written down."""
    sentences: tuple[tuple[str, list[tuple[int, int]]], ...] = (
        ("Mara met Bo Lind .", [(0, 1), (2, 4)]),
        ("Acme", [(0, 1)]),
        ("it rained", []),
        ("in old Kell", [(2, 3)]),
    )
    documents = tuple(
        Document.from_words(text.split(), [(*span, "Name") for span in spans]) for text, spans in sentences
    )
    return Corpus("short", {"train": documents}, Schema((EntityType("Name"),)))


@pytest.fixture(scope="module")
def crf_tagger(make_pipeline: Callable[..., TorchPipeline], short_corpus: Corpus) -> TorchPipeline:
    pipeline = make_pipeline("seq-ner", short_corpus, encoder={"word_shapes": False}, tagging="crf")
    generator = torch.Generator().manual_seed(3)
    crf: Any = pipeline.model.crf
    for parameter in crf.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator)
    return pipeline


def oracle_emissions(pipeline: TorchPipeline, document: Document) -> paper.Matrix:
    model: Any = pipeline.model
    _, words = paper.encode(model.encoder.transformer, pipeline.tokenizer, document.word_texts)
    return [paper.feed_forward(model.emit, word) for word in words]


def gold_tags(pipeline: TorchPipeline, document: Document) -> list[int]:
    kinds = {name: kind for kind, name in enumerate(pipeline.schema.entity_names)}
    entities = zip(word_spans(document), document.entities, strict=True)
    return paper.tags_of(len(document.words), [(*span, kinds[e.label]) for span, e in entities if span is not None])


@torch.no_grad()
def test_emissions_are_eq_5_over_max_pooled_words(tagger: TorchPipeline, flat_corpus: Corpus) -> None:
    documents = flat_corpus.splits["train"]
    scores = tagger.model(batch_of(tagger, documents)).scores
    assert (len(scores.transitions), len(scores.start), len(scores.end)) == (0, 0, 0)
    for row, document in zip(scores.emissions, documents, strict=True):
        wanted = torch.tensor(oracle_emissions(tagger, document))
        torch.testing.assert_close(row[: len(document.words)], wanted, **CLOSE)


@torch.no_grad()
def test_softmax_loss_is_eq_7_over_the_words_of_the_batch(tagger: TorchPipeline, flat_corpus: Corpus) -> None:
    documents = flat_corpus.splits["train"]
    loss = tagger.model.training_loss(batch_of(tagger, documents))
    rows = [row for document in documents for row in oracle_emissions(tagger, document)]
    tags = [tag for document in documents for tag in gold_tags(tagger, document)]
    assert loss.total.item() == pytest.approx(paper.cross_entropy(rows, tags), abs=1e-5)
    assert set(loss.terms) == {"tags"}


def test_softmax_decoding_combines_the_most_probable_tags(tagger: TorchPipeline, flat_corpus: Corpus) -> None:
    documents = flat_corpus.splits["train"]
    found = predictions(tagger, batch_of(tagger, documents), at_least(0.0, 0.0, 0.0))
    assert sum(len(p.spans) for p in found) > 5
    for prediction, document in zip(found, documents, strict=True):
        probabilities = [paper.softmax(row) for row in oracle_emissions(tagger, document)]
        tags = [paper.best(p) for p in probabilities]
        assert [span[:3] for span in prediction.spans] == paper.combine(tags)
        for span in prediction.spans:
            least = min(probabilities[word][tags[word]] for word in range(span.start, span.end))
            assert span.score == pytest.approx(least, abs=1e-5)


@torch.no_grad()
def test_crf_loss_is_the_mean_of_eq_10_over_sentences(crf_tagger: TorchPipeline, short_corpus: Corpus) -> None:
    documents = short_corpus.splits["train"]
    loss = crf_tagger.model.training_loss(batch_of(crf_tagger, documents)).total.item()
    wanted = []
    for document in documents:
        chances = paper.chain_probabilities(oracle_emissions(crf_tagger, document), crf_tagger.model.crf)
        wanted.append(-math.log(chances[tuple(gold_tags(crf_tagger, document))]))
    assert loss == pytest.approx(sum(wanted) / len(wanted), abs=1e-5)


def test_crf_decoding_is_the_best_chain_of_eq_11_scored_by_marginals(
    crf_tagger: TorchPipeline, short_corpus: Corpus
) -> None:
    documents = short_corpus.splits["train"]
    found = predictions(crf_tagger, batch_of(crf_tagger, documents), at_least(0.0))
    assert any(p.spans for p in found)
    for prediction, document in zip(found, documents, strict=True):
        chances = paper.chain_probabilities(oracle_emissions(crf_tagger, document), crf_tagger.model.crf)
        chain = max(chances, key=chances.__getitem__)
        assert [span[:3] for span in prediction.spans] == paper.combine(list(chain))
        for span in prediction.spans:
            marginals = [sum(p for c, p in chances.items() if c[w] == chain[w]) for w in range(span.start, span.end)]
            assert span.score == pytest.approx(min(marginals), abs=1e-5)


@torch.no_grad()
def test_a_word_shape_adds_its_vector_to_the_words(make_pipeline: Callable[..., TorchPipeline]) -> None:
    pipeline = make_pipeline("seq-ner")
    document = Document.from_words(["Mara", "met", "IBM", "3"])
    _, words = paper.encode(pipeline.model.encoder.transformer, pipeline.tokenizer, document.word_texts)
    table: Any = pipeline.model.encoder.shapes
    shapes = table.weight[[1, 0, 2, 5]]  # title, lower, upper, number
    encoded = pipeline.model.encoder(batch_of(pipeline, (document,)).words)
    torch.testing.assert_close(encoded.words[0], torch.tensor(words) + shapes, **CLOSE)


def test_gold_tags_are_bio_tags_of_the_outermost_entities(tagger: TorchPipeline, nested_corpus: Corpus) -> None:
    documents = nested_corpus.splits["train"]
    batch = batch_of(tagger, documents)
    gold = batch.require_gold()
    tags = bio_tags(gold.entities[gold.outermost], *batch.words.scored.shape)
    kinds = {name: kind for kind, name in enumerate(nested_corpus.schema.entity_names)}
    for row, document in zip(tags.tolist(), documents, strict=True):
        outer = [
            (*span, kinds[entity.label])
            for span, entity in zip(word_spans(document), document.entities, strict=True)
            if span is not None
            and not any(o != entity and o.start <= entity.start and entity.end <= o.end for o in document.entities)
        ]
        wanted = paper.tags_of(len(document.words), outer)
        assert row == wanted + [0] * (len(row) - len(wanted))


def with_emissions(emissions: torch.Tensor) -> Output[Any, Any]:
    none = torch.zeros(0)
    return Output(TagScores(emissions, none, none, none), NoRows())


def test_loss_reads_no_padding(tagger: TorchPipeline, flat_corpus: Corpus) -> None:
    model: Any = tagger.model
    batch = batch_of(tagger, flat_corpus.splits["train"])
    scored = batch.words.scored
    emissions = torch.randn(*scored.shape, 7, generator=torch.Generator().manual_seed(0))
    odd = emissions.masked_fill(~scored.unsqueeze(-1), 1e4)
    one, other = (model.loss(with_emissions(scores), None, batch).total for scores in (emissions, odd))
    assert one == other


def test_the_loss_learns_from_the_outermost_entities_alone(tagger: TorchPipeline, nested_corpus: Corpus) -> None:
    model: Any = tagger.model
    batch = batch_of(tagger, nested_corpus.splits["train"])
    gold = batch.require_gold()
    kept = gold.outermost
    assert 0 < kept.sum() < len(kept)
    alone = replace(batch, gold=replace(gold, entities=gold.entities[kept], outermost=kept[kept]))
    emissions = with_emissions(torch.randn(*batch.words.scored.shape, 7))
    assert model.loss(emissions, None, batch).total == model.loss(emissions, None, alone).total
