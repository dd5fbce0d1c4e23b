"""SpERT against label and relation texts: the scoring equations as loops, in double precision."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import joint_cases as cases
import joint_oracle as paper
import pytest
import torch
from joint_cases import DIM, SENTENCES
from spert_oracle import SpERT as Oracle
from torch import Tensor

from spanwise.decoding.pairs import PairRows
from spanwise.models.spert import SpERT
from spanwise.nn.label_scorer import RelationScorer
from spanwise.seam.batch import LabelTexts

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}
VECTORS = torch.randn(5, DIM, generator=torch.Generator().manual_seed(3))
LABELS, RELATIONS = VECTORS[:3], VECTORS[3:]


def gelu(vector: Tensor) -> Tensor:
    """x·Φ(x)"""
    return torch.stack([x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in vector])


def score(scorer: str, weights: paper.Weights, vector: Tensor, prior: Tensor, text: Tensor) -> Tensor:
    """v·l·scale + u + b for one text"""
    product = sum(float(x) * float(y) for x, y in zip(vector, text, strict=True))
    return product * weights[f"{scorer}.scale"] + prior.squeeze() + weights[f"{scorer}.bias"].squeeze()


class LabeledOracle(Oracle):
    def span(self, sentence: paper.Sentence, span: paper.Span) -> Tensor:
        """s = mean + W·h with h = gelu(Wˢ·(e(s) ∘ c) + bˢ + W·mean), and its scores against LABELS"""
        vector = torch.cat((self.represent(sentence, span), sentence.cls))
        mean = torch.stack(sentence.words[slice(*span)]).mean(0)
        first = paper.linear(self.weights, vector, "label_scorer.reduce", "sentence")
        hidden = gelu(first + paper.linear(self.weights, mean, "label_scorer.reduce_mean"))
        found = mean + paper.linear(self.weights, hidden, "label_scorer.span")
        prior = paper.linear(self.weights, hidden, "label_scorer.entity")
        return torch.stack([score("label_scorer", self.weights, found, prior, text.double()) for text in LABELS])

    def pair(self, sentence: paper.Sentence, head: paper.Span, tail: paper.Span) -> Tensor:
        """p = W·h + b with h = gelu(Wʳ·(e(s₁) ∘ c(s₁, s₂) ∘ e(s₂)) + bʳ), and its scores against RELATIONS"""
        hidden = gelu(super().pair(sentence, head, tail))
        found = paper.linear(self.weights, hidden, "relation_scorer.pair")
        prior = paper.linear(self.weights, hidden, "relation_scorer.related")
        return torch.stack([score("relation_scorer", self.weights, found, prior, text.double()) for text in RELATIONS])


class WithTexts(SpERT):
    """Scores against fixed vectors, as the text of every label."""

    def encode_labels(self, texts: Any) -> Any:
        return (LABELS,)

    def encode_relations(self, texts: Any) -> Any:
        return (RELATIONS,)


@pytest.fixture(scope="module")
def model() -> Any:
    return cases.build(WithTexts, scorer="descriptions")


def with_texts(batch: Any) -> Any:
    """The batch with texts, which `WithTexts` does not look at."""
    from dataclasses import replace

    texts = LabelTexts(*(torch.ones(2, 3),) * 3)
    return replace(batch, labels=texts, relation_labels=texts)


@torch.no_grad()
def test_spans_are_scored_against_every_label_text(model: Any) -> None:
    batch, oracle = with_texts(cases.batch_of(model)), LabeledOracle(model)
    read = cases.sentences()
    wanted = [oracle.span(read[row], (start, end)) for row, start, end in batch.proposals.spans.tolist()]
    torch.testing.assert_close(model(batch).scores.logits.double(), torch.stack(wanted), **CLOSE)


@torch.no_grad()
def test_pairs_are_scored_against_every_relation_text(model: Any) -> None:
    read, oracle = cases.sentences(), LabeledOracle(model)
    pairs = [(row, *pair) for row, sentence in enumerate(SENTENCES) for pair in sentence.pairs(widest=9)]
    spans = sorted({(row, *span) for row, *ends in pairs for span in ends})
    place = [[spans.index((row, *span)) for span in ends] for row, *ends in pairs]
    features = model(with_texts(cases.batch_of(model))).features
    scores = model.rescore(features, PairRows(torch.tensor(spans), torch.tensor(place))).logits
    wanted = [oracle.pair(read[row], *ends) for row, *ends in pairs]
    assert len(wanted) == 32
    torch.testing.assert_close(scores.double(), torch.stack(wanted), **CLOSE)


@torch.no_grad()
def test_the_loss_is_a_sum_over_cells_per_gold_cell(model: Any) -> None:
    batch, oracle = with_texts(cases.batch_of(model, training=True)), LabeledOracle(model)
    read = cases.sentences()
    spans, rows = batch.proposals.spans.tolist(), batch.proposals.labels.tolist()
    losses = [
        paper.binary_cross_entropy(oracle.span(read[row], (start, end)), {i for i, held in enumerate(labels) if held})
        for (row, start, end), labels in zip(spans, rows, strict=True)
    ]
    pairs = [(row, ends, held) for row, one in enumerate(SENTENCES) for ends, held in one.pairs().items()]
    linked = [paper.binary_cross_entropy(oracle.pair(read[row], *ends), held) for row, ends, held in pairs]
    gold = sum(map(sum, rows)), sum(len(held) for _, _, held in pairs)
    terms = model.training_loss(batch).terms
    assert terms["spans"].item() == pytest.approx(sum(losses) / gold[0], rel=1e-5)
    assert terms["pairs"].item() == pytest.approx(sum(linked) / gold[1], rel=1e-5)


@torch.no_grad()
def test_a_relation_is_the_mean_of_its_own_pieces_through_an_mlp() -> None:
    torch.manual_seed(5)
    scorer, table = RelationScorer(DIM, 0.0).eval(), torch.randn(9, DIM)
    encoder: Any = SimpleNamespace(hidden=lambda pieces, mask: table[pieces])
    pieces = torch.tensor([[1, 4, 5, 2], [1, 6, 2, 0]])  # special pieces around two texts, padding behind the second
    content = torch.tensor([[False, True, True, False], [False, True, False, False]])
    found = scorer.encode(encoder, LabelTexts(pieces, pieces > 0, content)).relations
    weights = paper.weights_of(scorer)
    for row, own in zip(found, ([4, 5], [6]), strict=True):
        mean = table[own].double().mean(0)
        wanted = mean + paper.linear(weights, gelu(paper.linear(weights, mean, "label.0")), "label.3")
        torch.testing.assert_close(row.double(), wanted, **CLOSE)
