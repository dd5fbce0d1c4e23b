"""SeqNER against the paper's equations as loops, with both ways of tagging, in batches of different lengths."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import bl_ner_oracle as paper
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from spanwise.corpora import Corpus
from spanwise.document import Document
from spanwise.models.base import Least
from spanwise.models.seq_ner import bio_tags, combine_tags
from spanwise.pipeline import Pipeline
from spanwise.schema import EntityType, Schema
from spanwise.text.alignment import word_spans

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture(scope="module")
def tagger(make_pipeline: Callable[..., Pipeline]) -> Pipeline:
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
def crf_tagger(make_pipeline: Callable[..., Pipeline], short_corpus: Corpus) -> Pipeline:
    pipeline = make_pipeline("seq-ner", short_corpus, encoder={"word_shapes": False}, tagging="crf")
    generator = torch.Generator().manual_seed(3)
    crf: Any = pipeline.model.crf
    for parameter in crf.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator)
    return pipeline


def batch_of(pipeline: Pipeline, documents: tuple[Document, ...]) -> Any:
    return pipeline.collate([e for group in pipeline.builder.build(documents, gold=True) for e in group])


def any_sure(types: int) -> Least:
    return Least(torch.zeros(types), torch.zeros(0))


def oracle_emissions(pipeline: Pipeline, document: Document) -> paper.Matrix:
    model = pipeline.model
    _, words = paper.encode(model.encoder.transformer, pipeline.tokenizer, document.word_texts)
    return [paper.feed_forward(model.emit, word) for word in words]


def gold_tags(pipeline: Pipeline, document: Document) -> list[int]:
    kinds = {name: kind for kind, name in enumerate(pipeline.schema.entity_names)}
    entities = zip(word_spans(document), document.entities, strict=True)
    return paper.tags_of(len(document.words), [(*span, kinds[e.label]) for span, e in entities if span is not None])


@torch.no_grad()
def test_emissions_are_eq_5_over_max_pooled_words(tagger: Pipeline, flat_corpus: Corpus) -> None:
    documents = flat_corpus.splits["train"]
    scores = tagger.model(batch_of(tagger, documents))
    for row, document in zip(scores, documents, strict=True):
        wanted = torch.tensor(oracle_emissions(tagger, document))
        torch.testing.assert_close(row[: len(document.words)], wanted, **CLOSE)


@torch.no_grad()
def test_softmax_loss_is_eq_7_over_the_words_of_the_batch(tagger: Pipeline, flat_corpus: Corpus) -> None:
    documents = flat_corpus.splits["train"]
    batch = batch_of(tagger, documents)
    loss = tagger.model.loss(tagger.model(batch), batch)
    rows = [row for document in documents for row in oracle_emissions(tagger, document)]
    tags = [tag for document in documents for tag in gold_tags(tagger, document)]
    assert loss.total.item() == pytest.approx(paper.cross_entropy(rows, tags), abs=1e-5)
    assert set(loss.terms) == {"tags"}


@torch.no_grad()
def test_softmax_decoding_combines_the_most_probable_tags(tagger: Pipeline, flat_corpus: Corpus) -> None:
    documents = flat_corpus.splits["train"]
    batch = batch_of(tagger, documents)
    predictions = tagger.model.decode(tagger.model(batch), batch, any_sure(3))
    assert sum(len(p.spans) for p in predictions) > 5
    for prediction, document in zip(predictions, documents, strict=True):
        probabilities = [paper.softmax(row) for row in oracle_emissions(tagger, document)]
        tags = [paper.best(p) for p in probabilities]
        assert [span[:3] for span in prediction.spans] == paper.combine(tags)
        for span in prediction.spans:
            least = min(probabilities[word][tags[word]] for word in range(span.start, span.end))
            assert span.score == pytest.approx(least, abs=1e-5)


@torch.no_grad()
def test_crf_loss_is_the_mean_of_eq_10_over_sentences(crf_tagger: Pipeline, short_corpus: Corpus) -> None:
    documents = short_corpus.splits["train"]
    batch = batch_of(crf_tagger, documents)
    loss = crf_tagger.model.loss(crf_tagger.model(batch), batch).total.item()
    wanted = []
    for document in documents:
        chances = paper.chain_probabilities(oracle_emissions(crf_tagger, document), crf_tagger.model.crf)
        wanted.append(-math.log(chances[tuple(gold_tags(crf_tagger, document))]))
    assert loss == pytest.approx(sum(wanted) / len(wanted), abs=1e-5)


@torch.no_grad()
def test_crf_decoding_is_the_best_chain_of_eq_11_scored_by_marginals(
    crf_tagger: Pipeline, short_corpus: Corpus
) -> None:
    documents = short_corpus.splits["train"]
    batch = batch_of(crf_tagger, documents)
    predictions = crf_tagger.model.decode(crf_tagger.model(batch), batch, any_sure(1))
    assert any(p.spans for p in predictions)
    for prediction, document in zip(predictions, documents, strict=True):
        chances = paper.chain_probabilities(oracle_emissions(crf_tagger, document), crf_tagger.model.crf)
        chain = max(chances, key=chances.__getitem__)
        assert [span[:3] for span in prediction.spans] == paper.combine(list(chain))
        for span in prediction.spans:
            sure = [sum(p for c, p in chances.items() if c[w] == chain[w]) for w in range(span.start, span.end)]
            assert span.score == pytest.approx(min(sure), abs=1e-5)


@torch.no_grad()
def test_a_word_shape_adds_its_vector_to_the_words(make_pipeline: Callable[..., Pipeline]) -> None:
    pipeline = make_pipeline("seq-ner")
    document = Document.from_words(["Mara", "met", "IBM", "3"])
    _, words = paper.encode(pipeline.model.encoder.transformer, pipeline.tokenizer, document.word_texts)
    table: Any = pipeline.model.encoder.shapes
    shapes = table.weight[[1, 0, 2, 5]]  # title, lower, upper, number
    encoded = pipeline.model.encoder(batch_of(pipeline, (document,)))
    torch.testing.assert_close(encoded.words[0], torch.tensor(words) + shapes, **CLOSE)


def test_gold_tags_are_bio_tags_of_the_outermost_entities(tagger: Pipeline, nested_corpus: Corpus) -> None:
    documents = nested_corpus.splits["train"]
    tags = bio_tags(batch_of(tagger, documents))
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


tag_rows = st.lists(st.lists(st.integers(0, 6), min_size=7, max_size=7), min_size=1, max_size=4)


@given(tag_rows, st.integers(0, 2**32))
def test_the_label_combiner_joins_runs_of_one_type(rows: list[list[int]], seed: int) -> None:
    sure = np.random.default_rng(seed).random((len(rows), 7))
    found = combine_tags(np.array(rows), sure, np.zeros(3))
    for prediction, row, chances in zip(found, rows, sure, strict=True):
        assert [span[:3] for span in prediction.spans] == paper.combine(row)
        assert [s.score for s in prediction.spans] == [min(chances[s.start : s.end]) for s in prediction.spans]


@given(tag_rows)
def test_the_label_combiner_reads_tags_as_seqeval_does(rows: list[list[int]]) -> None:
    found = combine_tags(np.array(rows), np.ones((len(rows), 7)), np.zeros(3))
    for prediction, row in zip(found, rows, strict=True):
        names = ["O" if tag == 0 else f"{'BI'[(tag - 1) % 2]}-{(tag - 1) // 2}" for tag in row]
        assert [(str(s.label), s.start, s.end - 1) for s in prediction.spans] == get_entities(names)


@pytest.mark.parametrize(
    ("tags", "entities"),
    [
        ([0, 2, 2, 0], [(1, 3, 0)]),  # I I: an entity without its B
        ([1, 4, 4, 0], [(0, 1, 0), (1, 3, 1)]),  # B-0 I-1 I-1
        ([1, 1, 2, 0], [(0, 1, 0), (1, 3, 0)]),  # B B I
        ([0, 0, 0, 1], [(3, 4, 0)]),  # up to the last word
        ([0, 0, 0, 0], []),
    ],
)
def test_odd_tag_sequences_are_repaired(tags: list[int], entities: list[tuple[int, int, int]]) -> None:
    (prediction,) = combine_tags(np.array([tags]), np.ones((1, 4)), np.zeros(2))
    assert [span[:3] for span in prediction.spans] == entities


def test_a_threshold_holds_for_its_own_label_only() -> None:
    tags, sure = np.array([[1, 0, 3, 4]]), np.array([[0.5, 1.0, 0.9, 0.4]])
    (prediction,) = combine_tags(tags, sure, np.array([0.5, 0.41]))
    assert [span[:3] for span in prediction.spans] == [(0, 1, 0)]


def test_padding_never_becomes_an_entity(tagger: Pipeline, flat_corpus: Corpus) -> None:
    batch = batch_of(tagger, flat_corpus.splits["train"])
    scores = torch.zeros(*batch.word_mask.shape, 7)
    scores[..., 2] = 5.0  # I of the first type, everywhere
    predictions = tagger.model.decode(scores, batch, any_sure(3))
    lengths = batch.word_mask.sum(1).tolist()
    assert [p.spans[0][:3] for p in predictions] == [(0, length, 0) for length in lengths]


def test_loss_reads_no_padding(tagger: Pipeline, flat_corpus: Corpus) -> None:
    batch = batch_of(tagger, flat_corpus.splits["train"])
    scores = torch.randn(*batch.word_mask.shape, 7, generator=torch.Generator().manual_seed(0))
    odd = scores.masked_fill(~batch.word_mask.unsqueeze(-1), 1e4)
    assert tagger.model.loss(scores, batch).total == tagger.model.loss(odd, batch).total
