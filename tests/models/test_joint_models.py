"""SpERT, SPAN and STSN against their papers' formulas as loops: every variant and ablation, in one padded batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import joint_cases as cases
import joint_oracle as paper
import numpy as np
import pytest
import span_oracle
import spert_oracle
import stsn_oracle
import torch
from joint_cases import SCHEMA, SENTENCES, WIDEST

import bl_ner_oracle
from spanwise.decoding.pairs import PairRows
from spanwise.models.span import SPAN
from spanwise.models.spert import SpERT
from spanwise.models.stsn import STSN
from spanwise.seam.decoder import ScoreThresholds

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}


def entities(sentence: cases.Marked) -> list[stsn_oracle.Entity]:
    return [(start, end, SCHEMA.entity_names[kind]) for start, end, kind in sentence.entities]


TAGS = [stsn_oracle.extended_tags(sentence.length, entities(sentence)) for sentence in SENTENCES]
DOUBLE = tuple(sorted({tuple(tag.split("/")) for tags in TAGS for tag in tags if "/" in tag}))
TAG_NAMES = ["O", "B-Drug", "I-Drug", "B-Effect", "I-Effect", "B-Dose", "I-Dose", *map("/".join, DOUBLE)]
ABLATIONS = ("span_specific", "span_context", "pair_local", "pair_context")

SPAN_SIZES = {"heads": 4, "attention_dim": 6, "context_dim": 3}
SPAN_VARIANTS: dict[str, dict[str, Any]] = {
    **{f"span-{kind}": {"attention": kind} for kind in ("multi-head", "dot-product", "general", "additive")},
    **{f"span-without-{part}": {part: False} for part in ABLATIONS},
    "span-base": dict.fromkeys(ABLATIONS, False),
    "span-sigmoid": {"relation_activation": "sigmoid"},
    "span-multi-label": {"multi_label": True},
}
STSN_SIZES = {"heads": 4, "label_dim": 6, "layers": 2, "double_tags": DOUBLE}
STSN_VARIANTS: dict[str, dict[str, Any]] = {
    **{f"stsn-{layers}-layers": {"layers": layers} for layers in (0, 1, 4)},
    **{f"stsn-without-{part}": {part: False} for part in ("label_embedding", "feedback")},
    "stsn-without-double-tags": {"double_tags": ()},
    "stsn-multi-label": {"multi_label": True},
}
VARIANTS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "spert": (SpERT, spert_oracle.SpERT, {}),
    "spert-multi-label": (SpERT, spert_oracle.SpERT, {"multi_label": True}),
    **{name: (SPAN, span_oracle.SPAN, {**SPAN_SIZES, **options}) for name, options in SPAN_VARIANTS.items()},
    **{name: (STSN, stsn_oracle.STSN, {**STSN_SIZES, **options}) for name, options in STSN_VARIANTS.items()},
}


class Case(NamedTuple):
    model: Any
    oracle: Any

    def gold_tags(self, row: int) -> list[int]:
        """A double tag that the tag set lacks falls to its first half."""
        names = TAG_NAMES[: 7 + len(getattr(self.model.config, "double_tags", ()))]
        return [names.index(tag if tag in names else tag.split("/")[0]) for tag in TAGS[row]]

    def read(self, *, gold: bool) -> list[Any]:
        """What the paper's classifiers see of each sentence."""
        given = enumerate(cases.sentences())
        return [self.oracle.read(sentence, self.gold_tags(row) if gold else None) for row, sentence in given]


@pytest.fixture(scope="module", params=VARIANTS)
def case(request: pytest.FixtureRequest) -> Case:
    model, oracle, options = VARIANTS[request.param]
    built = cases.build(model, **options)
    return Case(built, oracle(built))


@torch.no_grad()
def test_spans_are_scored_as_in_the_paper(case: Case) -> None:
    batch = cases.batch_of(case.model)
    read = case.read(gold=False)
    wanted = [case.oracle.span(read[row], (start, end)) for row, start, end in batch.proposals.spans.tolist()]
    logits = case.model(batch).scores.logits
    assert logits.shape[1] == (3 if case.model.config.multi_label else 4)
    torch.testing.assert_close(logits.double(), torch.stack(wanted), **CLOSE)


@torch.no_grad()
def test_pairs_are_scored_as_in_the_paper_however_their_spans_lie(case: Case) -> None:
    batch, read = cases.batch_of(case.model), case.read(gold=False)
    pairs = [(row, *pair) for row, sentence in enumerate(SENTENCES) for pair in sentence.pairs(widest=9)]
    spans = sorted({(row, *span) for row, *ends in pairs for span in ends})
    place = [[spans.index((row, *span)) for span in ends] for row, *ends in pairs]
    features = case.model(batch).features
    scores = case.model.rescore(features, PairRows(torch.tensor(spans), torch.tensor(place))).logits
    wanted = [case.oracle.pair(read[row], *ends) for row, *ends in pairs]
    assert len(wanted) == 32
    torch.testing.assert_close(scores.double(), torch.stack(wanted), **CLOSE)


def labeled_spans(sentence: cases.Marked, *, multi_label: bool) -> list[tuple[paper.Span, Any]]:
    """Gold spans, once per label with its class or once with all their labels, and all others up to the width."""
    fits = [entity for entity in sentence.entities if entity[1] - entity[0] <= WIDEST]
    gold: list[tuple[paper.Span, Any]] = [(entity[:2], 1 + entity[2]) for entity in fits]
    if multi_label:
        gold = [(span, {e[2] for e in fits if e[:2] == span}) for span in {entity[:2] for entity in fits}]
    taken, none = [span for span, _ in gold], set() if multi_label else 0
    return gold + [(s, none) for s in bl_ner_oracle.spans_up_to(sentence.length, WIDEST) if s not in taken]


def labeled(case: Case) -> paper.Labeled:
    """Everything that training looks at, written down from the sentences: no more is left out than what is too wide."""
    spans, pairs, tags = [], [], []
    for row, (read, sentence) in enumerate(zip(case.read(gold=True), SENTENCES, strict=True)):
        held_spans = labeled_spans(sentence, multi_label=case.model.config.multi_label)
        spans += [(case.oracle.span(read, span), kind) for span, kind in held_spans]
        pairs += [(case.oracle.pair(read, *ends), held) for ends, held in sentence.pairs().items()]
        if isinstance(read, stsn_oracle.Read):
            tags += list(zip(read.tags, case.gold_tags(row), strict=True))
    return paper.Labeled(spans, pairs, tags)


@torch.no_grad()
def test_the_loss_and_its_terms_are_those_of_the_paper(case: Case) -> None:
    """In training mode: STSN then reads gold tags."""
    model = case.model.train()
    loss = model.training_loss(cases.batch_of(model, training=True))
    model.eval()
    found = {"total": loss.total.item(), **{name: term.item() for name, term in loss.terms.items()}}
    assert found == pytest.approx(case.oracle.loss(labeled(case)), abs=1e-5)


def typed(case: Case, read: Any, span: paper.Span, lowest: list[float]) -> list[tuple[int, int, int, float]]:
    """The best class of a span if it is a label, or every label that is, where it is probable enough."""
    scores = case.oracle.span(read, span).tolist()
    if case.model.config.multi_label:
        chances = [paper.sigmoid(score) for score in scores]
    else:
        shares = paper.softmax(scores)
        chances = [share if share == max(shares) else -1.0 for share in shares[1:]]
    return [(*span, kind, chance) for kind, chance in enumerate(chances) if chance >= lowest[kind]]


def found_by(
    case: Case, entity_thresholds: list[float], relation_thresholds: list[float]
) -> Iterator[tuple[list[Any], dict[Any, float]]]:
    """Entities and relations of each sentence, by the paper: spans with labels that do not overlap, then pairs."""
    for read, sentence in zip(case.read(gold=False), SENTENCES, strict=True):
        spans = bl_ner_oracle.spans_up_to(sentence.length, WIDEST)
        labels = [one for span in spans for one in typed(case, read, span, entity_thresholds)]
        entities = bl_ner_oracle.heuristic(labels, shared=case.model.config.multi_label)
        relations: dict[Any, float] = {}
        for head, one in enumerate(entities):
            for tail, other in enumerate(entities):
                if one[:2] != other[:2]:
                    chances = case.oracle.chances(case.oracle.pair(read, one[:2], other[:2]))
                    relations |= {(head, tail, k): p for k, p in enumerate(chances) if p >= relation_thresholds[k]}
        yield entities, relations


@torch.no_grad()
def test_decoding_is_that_of_the_paper(case: Case) -> None:
    lowest = [0.5, 0.6, 0.5] if case.model.config.multi_label else [0.0, 0.4, 0.0]
    thresholds = ScoreThresholds(np.array(lowest, np.float32), np.array([0.4, 0.5], np.float32))
    predictions = cases.predictions(case.model, thresholds)
    assert sum(len(prediction.relations) for prediction in predictions) > 3
    for prediction, (entities, relations) in zip(predictions, found_by(case, lowest, [0.4, 0.5]), strict=True):
        assert [span[:3] for span in prediction.spans] == [span[:3] for span in entities]
        assert [span.score for span in prediction.spans] == pytest.approx([span[3] for span in entities], abs=1e-5)
        found = {(r.head, r.tail, r.label): r.score for r in prediction.relations}
        assert found == pytest.approx(relations, abs=1e-5)
        assert len(found) == len(prediction.relations)
