"""SpanNER against the paper's equations as loops, in its three representations, in batches of different lengths."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

import bl_ner_oracle as paper
from model_batches import arrays, at_least, batch_of, predictions
from spanwise.corpora import Corpus
from spanwise.decoding.spans import SpanScores
from spanwise.document import Document
from spanwise.models.span_ner import SpanNER, SpanNERConfig
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.text.alignment import word_spans
from spanwise.text.profile import DataProfile

EPSILON = 4
CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture(scope="module", params=["boundary", "pooling", "hybrid"])
def spanner(request: pytest.FixtureRequest, make_pipeline: Callable[..., TorchPipeline]) -> TorchPipeline:
    options = {"representation": request.param, "max_width": EPSILON, "width_dim": 5, "negatives": 10}
    return make_pipeline("span-ner", encoder={"word_shapes": False}, **options)


@pytest.fixture(scope="module")
def multi_label(make_pipeline: Callable[..., TorchPipeline]) -> TorchPipeline:
    options = {"max_width": EPSILON, "width_dim": 5, "negatives": 10, "multi_label": True}
    return make_pipeline("span-ner", encoder={"word_shapes": False}, **options)


class Oracle:
    """Scores of any span of any document, by the paper."""

    def __init__(self, pipeline: TorchPipeline, documents: tuple[Document, ...]) -> None:
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


def check_scores(pipeline: TorchPipeline, documents: tuple[Document, ...], outputs: int) -> None:
    oracle, batch = Oracle(pipeline, documents), batch_of(pipeline, documents)
    assert [tuple(row) for row in batch.proposals.spans.tolist()] == oracle.candidates()
    wanted = torch.tensor([oracle.scores(row, (start, end)) for row, start, end in oracle.candidates()])
    logits = pipeline.model(batch).scores.logits
    assert logits.shape[1] == outputs
    torch.testing.assert_close(logits, wanted, **CLOSE)


@torch.no_grad()
def test_candidates_are_eq_12_and_their_scores_eqs_13_to_16(spanner: TorchPipeline, flat_corpus: Corpus) -> None:
    check_scores(spanner, flat_corpus.splits["train"], 4)


@torch.no_grad()
def test_with_several_labels_per_span_each_label_has_a_score_and_none_has_not(
    multi_label: TorchPipeline, flat_corpus: Corpus
) -> None:
    check_scores(multi_label, flat_corpus.splits["train"], 3)


def gold_of(documents: tuple[Document, ...], names: tuple[str, ...]) -> dict[tuple[int, int, int], set[int]]:
    """The labels of each gold span."""
    gold: dict[tuple[int, int, int], set[int]] = {}
    for row, document in enumerate(documents):
        for span, entity in zip(word_spans(document), document.entities, strict=True):
            if span is not None:
                gold.setdefault((row, *span), set()).add(names.index(entity.label))
    return gold


def check_sampled(drawn: list[tuple[int, ...]], gold: Any, oracle: Oracle) -> None:
    assert set(gold) <= set(drawn)
    for row in range(len(oracle.documents)):
        negatives = {span for span in oracle.candidates() if span[0] == row} - set(gold)
        assert len([span for span in drawn if span[0] == row and span not in gold]) == min(10, len(negatives))  # eq. 20


@torch.no_grad()
def test_loss_is_eq_18_over_gold_spans_and_sampled_negatives(spanner: TorchPipeline, nested_corpus: Corpus) -> None:
    oracle = Oracle(spanner, nested_corpus.splits["train"])
    batch = batch_of(spanner, oracle.documents, np.random.default_rng(4))
    drawn = [tuple(row) for row in batch.proposals.spans.tolist()]
    gold = gold_of(oracle.documents, nested_corpus.schema.entity_names)
    check_sampled(drawn, gold, oracle)
    classes = {span: 1 + label for span, (label,) in gold.items()}
    rows = [oracle.scores(row, (start, end)) for row, start, end in drawn]
    wanted = paper.cross_entropy(rows, [classes.get(span, 0) for span in drawn])
    loss = spanner.model.training_loss(batch)
    assert loss.total.item() == pytest.approx(wanted, abs=1e-5)
    assert set(loss.terms) == {"spans"}


@torch.no_grad()
def test_with_several_labels_per_span_the_loss_is_summed_over_labels_and_averaged_over_spans(
    multi_label: TorchPipeline, nested_corpus: Corpus
) -> None:
    """Two of the documents have a second label on their first entity."""
    first, second, *others = nested_corpus.splits["train"]
    twice = [d.with_annotations([*d.entities, replace(d.entities[0], label="Place")]) for d in (first, second)]
    oracle = Oracle(multi_label, (*twice, *others))
    batch = batch_of(multi_label, oracle.documents, np.random.default_rng(4))
    drawn = [tuple(row) for row in batch.proposals.spans.tolist()]
    gold = gold_of(oracle.documents, nested_corpus.schema.entity_names)
    assert sum(len(labels) == 2 for labels in gold.values()) == 2
    check_sampled(drawn, gold, oracle)
    assert len(drawn) == len(set(drawn))
    total = 0.0
    for row, start, end in drawn:
        for label, score in enumerate(oracle.scores(row, (start, end))):
            chance = 1 / (1 + math.exp(-score))
            total -= math.log(chance if label in gold.get((row, start, end), ()) else 1 - chance)
    assert multi_label.model.training_loss(batch).total.item() == pytest.approx(total / len(drawn), rel=1e-5)


def typed_spans(oracle: Oracle, row: int) -> list[tuple[int, int, int, float]]:
    """Eq. 17: the spans of a document whose most probable type is not None."""
    found = []
    for span in paper.spans_up_to(len(oracle.documents[row].words), EPSILON):
        chances = paper.softmax(oracle.scores(row, span))
        if (kind := paper.best(chances)) > 0:
            found.append((*span, kind - 1, chances[kind]))
    return found


def test_flat_decoding_keeps_the_most_probable_of_overlapping_spans(
    spanner: TorchPipeline, flat_corpus: Corpus
) -> None:
    oracle = Oracle(spanner, flat_corpus.splits["train"])
    found = predictions(spanner, batch_of(spanner, oracle.documents), at_least(0.0, 0.0, 0.0))
    for row, prediction in enumerate(found):
        wanted = paper.heuristic(typed_spans(oracle, row))
        assert [span[:3] for span in prediction.spans] == [span[:3] for span in wanted]
        assert [span[3] for span in prediction.spans] == pytest.approx([span[3] for span in wanted], abs=1e-5)


def test_nested_decoding_keeps_all_typed_spans(
    make_pipeline: Callable[..., TorchPipeline], nested_corpus: Corpus
) -> None:
    options = {"max_width": EPSILON, "nested": True}
    pipeline = make_pipeline("span-ner", nested_corpus, encoder={"word_shapes": False}, **options)
    oracle = Oracle(pipeline, nested_corpus.splits["train"])
    found = predictions(pipeline, batch_of(pipeline, oracle.documents), at_least(0.0, 0.0, 0.0))
    for row, prediction in enumerate(found):
        assert [span[:3] for span in prediction.spans] == [span[:3] for span in typed_spans(oracle, row)]


def test_a_threshold_drops_less_probable_spans_of_its_label(spanner: TorchPipeline, flat_corpus: Corpus) -> None:
    batch, decoder = arrays(batch_of(spanner, flat_corpus.splits["train"])), spanner.reader.decoder
    logits = np.random.default_rng(0).standard_normal((len(batch.proposals.spans), 4)).astype(np.float32)
    everything = decoder.propose(SpanScores(logits), batch, at_least(0.0, 0.0, 0.0)).spans
    none_of_the_first = decoder.propose(SpanScores(logits), batch, at_least(1.0, 0.0, 0.0)).spans
    assert 0 in everything.labels
    assert 0 not in none_of_the_first.labels
    assert len(none_of_the_first.labels) > 0


def test_gold_wider_than_the_limit_is_no_candidate(spanner: TorchPipeline, flat_corpus: Corpus) -> None:
    batch = batch_of(spanner, flat_corpus.splits["train"], np.random.default_rng(0))
    gold, spans = batch.require_gold().entities, batch.proposals.spans
    assert (gold[:, 2] - gold[:, 1]).max() == 5
    assert (spans[:, 2] - spans[:, 1]).max() <= EPSILON


@pytest.mark.parametrize(("coverage", "width"), [(0.5, 1), (0.95, 2), (0.99, 3), (1.0, 12)])
def test_auto_width_covers_the_wanted_share_of_entities(coverage: float, width: int) -> None:
    facts = DataProfile(widths={1: 700, 2: 250, 3: 49, 12: 1})
    assert SpanNERConfig(coverage=coverage).fitted(facts).max_width == width
    assert SpanNERConfig(max_width=7, coverage=coverage).fitted(facts).max_width == 7


def test_a_width_that_is_left_open_is_refused_when_the_model_is_built(spanner: TorchPipeline) -> None:
    with pytest.raises(ValueError, match="still 'auto'"):
        SpanNER(spanner.model.encoder, SpanNERConfig(), spanner.schema)


@pytest.mark.parametrize(
    "options", [{"max_width": 0}, {"max_width": -2}, {"negatives": 0}, {"dropout": 1.0}, {"width": 3}]
)
def test_options_that_cannot_work_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        SpanNERConfig(**options)
