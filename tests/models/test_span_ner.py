"""SpanNER against the paper's equations as loops, in its three representations, in batches of different lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bl_ner_oracle as paper
import numpy as np
import pytest
import torch
from pydantic import ValidationError

from spanwise.corpora import Corpus
from spanwise.document import Document
from spanwise.models.base import DataFacts, Least
from spanwise.models.span_ner import SpanNER, SpanNERConfig
from spanwise.pipeline import Pipeline
from spanwise.text.alignment import word_spans

EPSILON = 4
CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture(scope="module", params=["boundary", "pooling", "hybrid"])
def spanner(request: pytest.FixtureRequest, make_pipeline: Callable[..., Pipeline]) -> Pipeline:
    options = {"representation": request.param, "max_width": EPSILON, "width_dim": 5, "negatives": 10}
    return make_pipeline("span-ner", encoder={"word_shapes": False}, **options)


def batch_of(pipeline: Pipeline, documents: tuple[Document, ...], **options: Any) -> Any:
    examples = [e for group in pipeline.builder.build(documents, gold=True) for e in group]
    return pipeline.collate(examples, **options)


def at_least(*entities: float) -> Least:
    return Least(torch.tensor(entities), torch.zeros(0))


class Oracle:
    """Scores of any span of any document, by the paper."""

    def __init__(self, pipeline: Pipeline, documents: tuple[Document, ...]) -> None:
        self.model: Any = pipeline.model
        self.documents = documents
        transformer = self.model.encoder.transformer
        self.encoded = [paper.encode(transformer, pipeline.tokenizer, d.word_texts) for d in documents]

    def scores(self, row: int, span: paper.Span) -> paper.Vector:
        how, widths = self.model.config.representation, self.model.spans.widths.table
        vector = paper.represent(how, span, *self.encoded[row], widths)
        return paper.feed_forward(self.model.classify, vector)

    def candidates(self) -> list[tuple[int, int, int]]:
        lengths = [len(document.words) for document in self.documents]
        return [(row, *span) for row, length in enumerate(lengths) for span in paper.spans_up_to(length, EPSILON)]


@torch.no_grad()
def test_candidates_are_eq_12_and_their_scores_eqs_13_to_16(spanner: Pipeline, flat_corpus: Corpus) -> None:
    oracle = Oracle(spanner, flat_corpus.splits["train"])
    batch = batch_of(spanner, oracle.documents)
    assert [tuple(row) for row in batch.spans.tolist()] == oracle.candidates()
    wanted = torch.tensor([oracle.scores(row, (start, end)) for row, start, end in oracle.candidates()])
    torch.testing.assert_close(spanner.model(batch), wanted, **CLOSE)


@torch.no_grad()
def test_loss_is_eq_18_over_gold_spans_and_sampled_negatives(spanner: Pipeline, nested_corpus: Corpus) -> None:
    oracle = Oracle(spanner, nested_corpus.splits["train"])
    batch = batch_of(spanner, oracle.documents, rng=np.random.default_rng(4))
    drawn = [tuple(row) for row in batch.spans.tolist()]
    names = nested_corpus.schema.entity_names
    gold = {
        (row, *span): 1 + names.index(entity.label)
        for row, document in enumerate(oracle.documents)
        for span, entity in zip(word_spans(document), document.entities, strict=True)
        if span is not None
    }
    assert set(gold) <= set(drawn)
    for row in range(len(oracle.documents)):
        negatives = {span for span in oracle.candidates() if span[0] == row} - set(gold)
        assert len([span for span in drawn if span[0] == row and span not in gold]) == min(10, len(negatives))  # eq. 20
    rows = [oracle.scores(row, (start, end)) for row, start, end in drawn]
    wanted = paper.cross_entropy(rows, [gold.get(span, 0) for span in drawn])
    loss = spanner.model.loss(spanner.model(batch), batch)
    assert loss.total.item() == pytest.approx(wanted, abs=1e-5)
    assert set(loss.terms) == {"spans"}


def typed_spans(oracle: Oracle, row: int) -> list[tuple[int, int, int, float]]:
    """Eq. 17: the spans of a document whose most probable type is not None."""
    found = []
    for span in paper.spans_up_to(len(oracle.documents[row].words), EPSILON):
        chances = paper.softmax(oracle.scores(row, span))
        if (kind := paper.best(chances)) > 0:
            found.append((*span, kind - 1, chances[kind]))
    return found


@torch.no_grad()
def test_flat_decoding_keeps_the_most_probable_of_overlapping_spans(spanner: Pipeline, flat_corpus: Corpus) -> None:
    oracle = Oracle(spanner, flat_corpus.splits["train"])
    batch = batch_of(spanner, oracle.documents)
    predictions = spanner.model.decode(spanner.model(batch), batch, at_least(0.0, 0.0, 0.0))
    for row, prediction in enumerate(predictions):
        wanted = paper.heuristic(typed_spans(oracle, row))
        assert [span[:3] for span in prediction.spans] == [span[:3] for span in wanted]
        assert [span[3] for span in prediction.spans] == pytest.approx([span[3] for span in wanted], abs=1e-5)


@torch.no_grad()
def test_nested_decoding_keeps_all_typed_spans(make_pipeline: Callable[..., Pipeline], nested_corpus: Corpus) -> None:
    options = {"max_width": EPSILON, "nested": True}
    pipeline = make_pipeline("span-ner", nested_corpus, encoder={"word_shapes": False}, **options)
    oracle = Oracle(pipeline, nested_corpus.splits["train"])
    batch = batch_of(pipeline, oracle.documents)
    predictions = pipeline.model.decode(pipeline.model(batch), batch, at_least(0.0, 0.0, 0.0))
    for row, prediction in enumerate(predictions):
        assert [span[:3] for span in prediction.spans] == [span[:3] for span in typed_spans(oracle, row)]


@torch.no_grad()
def test_a_threshold_drops_less_probable_spans_of_its_label(spanner: Pipeline, flat_corpus: Corpus) -> None:
    batch = batch_of(spanner, flat_corpus.splits["train"])
    scores = torch.randn(len(batch.spans), 4, generator=torch.Generator().manual_seed(0))
    everything = spanner.model.decode(scores, batch, at_least(0.0, 0.0, 0.0))
    none_of_the_first = spanner.model.decode(scores, batch, at_least(1.0, 0.0, 0.0))
    assert any(span.label == 0 for p in everything for span in p.spans)
    assert not any(span.label == 0 for p in none_of_the_first for span in p.spans)
    assert any(p.spans for p in none_of_the_first)


def test_gold_wider_than_the_limit_is_no_candidate(spanner: Pipeline, flat_corpus: Corpus) -> None:
    batch = batch_of(spanner, flat_corpus.splits["train"], rng=np.random.default_rng(0))
    assert (batch.gold[:, 2] - batch.gold[:, 1]).max() == 5
    assert (batch.spans[:, 2] - batch.spans[:, 1]).max() <= EPSILON


@pytest.mark.parametrize(("coverage", "width"), [(0.5, 1), (0.95, 2), (0.99, 3), (1.0, 12)])
def test_auto_width_covers_the_wanted_share_of_entities(coverage: float, width: int) -> None:
    facts = DataFacts({1: 700, 2: 250, 3: 49, 12: 1})
    assert SpanNERConfig(coverage=coverage).fitted(facts).max_width == width
    assert SpanNERConfig(max_width=7, coverage=coverage).fitted(facts).max_width == 7


def test_a_width_that_is_left_open_is_refused_when_the_model_is_built(spanner: Pipeline) -> None:
    with pytest.raises(ValueError, match="still 'auto'"):
        SpanNER(spanner.model.encoder, SpanNERConfig(), spanner.schema)


@pytest.mark.parametrize(
    "options", [{"max_width": 0}, {"max_width": -2}, {"negatives": 0}, {"dropout": 1.0}, {"width": 3}]
)
def test_options_that_cannot_work_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        SpanNERConfig(**options)
