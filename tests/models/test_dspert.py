"""DSpERT against equations 1 to 7 as loops, in every depth and with every option; and what it adds to the paper."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import bl_ner_oracle
import deep_cases as cases
import dspert_oracle as paper
import joint_oracle
import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from spanwise import pretrained
from spanwise.corpora import Corpus
from spanwise.errors import RecipeError
from spanwise.models.base import Least
from spanwise.models.dspert import DeepScores, DSpERTConfig
from spanwise.nn.batch import Batch
from spanwise.pipeline import Pipeline
from spanwise.recipe import TrainSection
from spanwise.training.optimization import optimizer_for

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}
LAYERS = cases.LAYERS
AGGREGATIONS = ("max", "mean", "multiplicative", "additive")
SETTINGS: dict[str, dict[str, Any]] = {
    "independent": {},
    "shared": {"shared": True},
    **{f"depth-{depth}": {"depth": depth} for depth in range(LAYERS + 1)},
    **{f"shared-depth-{depth}": {"depth": depth, "shared": True} for depth in range(1, LAYERS)},
    **{how: {"aggregation": how} for how in AGGREGATIONS[1:]},
    **{f"shallow-{how}": {"aggregation": how, "depth": 0} for how in AGGREGATIONS[1:]},
    "lstm": {"lstm": 6},
    "shallow-lstm": {"lstm": 6, "depth": 0, "aggregation": "mean"},
    "unsmoothed": {"smoothing": 0.0},
    "smoothed-far": {"smoothing": 0.3, "smoothing_distance": 2},
    "single-words": {"max_width": 1},
    "wide": {"max_width": 12},
    "word-shapes": {"encoder": {"word_shapes": True}},
}
ANY_SURE = Least(torch.zeros(len(cases.LABELS)), torch.zeros(0))


class Wanted(NamedTuple):
    """What the paper makes of the spans of each sentence."""

    logits: list[dict[paper.Span, Tensor]]
    z: list[dict[paper.Span, Tensor]]


def by_the_paper(pipeline: Pipeline) -> Wanted:
    rows = [paper.DSpERT(pipeline.model).score(sentence) for sentence in cases.read(pipeline)]
    logits, z = ([{span: getattr(one, what) for span, one in row.items()} for row in rows] for what in ("logits", "z"))
    return Wanted(logits, z)


class Case(NamedTuple):
    """What a model makes of the batch, and what the paper makes of each sentence by itself."""

    model: Any
    batch: Batch
    scores: DeepScores
    wanted: Wanted


@pytest.fixture(scope="module", params=SETTINGS)
def case(request: pytest.FixtureRequest, build: cases.Builder) -> Case:
    pipeline = build("dspert", **SETTINGS[request.param])
    batch = cases.batch_of(pipeline)
    with torch.no_grad():
        scores = pipeline.model(batch)
    return Case(pipeline.model, batch, scores, by_the_paper(pipeline))


def test_all_spans_up_to_the_width_are_scored(case: Case) -> None:
    wanted = [(row, *span) for row, spans in enumerate(case.wanted.logits) for span in sorted(spans)]
    assert [tuple(span) for span in case.scores.spans.tolist()] == wanted


def test_logits_and_what_they_are_computed_from_are_those_of_equations_1_to_6(case: Case) -> None:
    for found, wanted in ((case.scores.logits, case.wanted.logits), (case.scores.z, case.wanted.z)):
        torch.testing.assert_close(found.double(), cases.in_order(case.batch.spans, wanted), **CLOSE)


def test_the_loss_is_equation_7_smoothed(case: Case) -> None:
    loss = case.model.loss(case.scores, case.batch)
    wanted = cases.loss_of(case.model.config, case.batch, case.wanted.logits)
    assert loss.total.item() == pytest.approx(wanted, rel=1e-5)
    assert loss.terms == {"spans": loss.total}


@torch.no_grad()
@pytest.mark.parametrize("options", [{}, {"smoothing": 0.0}, {"smoothing_distance": 2}, {"depth": 0}], ids=str)
def test_sampled_negatives_are_as_many_as_asked_for_and_speak_for_the_rest_in_the_loss(
    build: cases.Builder, options: dict[str, Any]
) -> None:
    pipeline = build("dspert", negatives=3, **options)
    batch = cases.batch_of(pipeline, training=True)
    assert batch.spans[batch.span_labels == 0][:, 0].bincount().tolist() == [3, 0, 3, 3, 3]
    wanted = by_the_paper(pipeline).logits
    scores = pipeline.model(batch)
    torch.testing.assert_close(scores.logits.double(), cases.in_order(batch.spans, wanted), **CLOSE)
    loss = pipeline.model.loss(scores, batch).total.item()
    assert loss == pytest.approx(cases.loss_of(pipeline.model.config, batch, wanted), rel=1e-5)


def test_all_negatives_are_in_a_training_batch_unless_a_number_is_given(build: cases.Builder) -> None:
    pipeline = build("dspert")
    reading, training = (cases.batch_of(pipeline, training=learns).spans.tolist() for learns in (False, True))
    assert {tuple(span) for span in training} == {tuple(span) for span in reading}


@torch.no_grad()
@pytest.mark.parametrize("options", [{}, {"aggregation": "additive"}, {"depth": 0}, {"lstm": 6}], ids=str)
def test_a_span_scores_the_same_where_its_label_is_known(build: cases.Builder, options: dict[str, Any]) -> None:
    """In training gold spans come first: whatever runs along the spans must not see it."""
    pipeline = build("dspert", **options)
    scores = pipeline.model(cases.batch_of(pipeline))
    read = {tuple(span): row for span, row in zip(scores.spans.tolist(), scores.logits, strict=True)}
    learnt = pipeline.model(cases.batch_of(pipeline, training=True))
    wanted = torch.stack([read[tuple(span)] for span in learnt.spans.tolist()])
    torch.testing.assert_close(learnt.logits, wanted, **CLOSE)


@torch.no_grad()
@pytest.mark.parametrize("nested", [True, False])
def test_predictions_are_the_spans_whose_best_class_is_a_type(build: cases.Builder, nested: bool) -> None:
    pipeline = build("dspert", nested=nested)
    batch = cases.batch_of(pipeline)
    predictions = pipeline.model.decode(pipeline.model(batch), batch, ANY_SURE)
    assert sum(len(prediction.spans) for prediction in predictions) >= 5
    for prediction, spans in zip(predictions, by_the_paper(pipeline).logits, strict=True):
        chances = {span: joint_oracle.softmax(logits.tolist()) for span, logits in spans.items()}
        found = [(*span, c.index(max(c)) - 1, max(c)) for span, c in chances.items() if c[0] < max(c)]
        wanted = found if nested else bl_ner_oracle.heuristic(found)
        assert [span[:3] for span in sorted(prediction.spans)] == [span[:3] for span in sorted(wanted)]
        assert [span[3] for span in sorted(prediction.spans)] == pytest.approx([s[3] for s in sorted(wanted)], abs=1e-5)


def chances_of(pipeline: Pipeline, spans: Tensor) -> list[float]:
    """How promising each span is."""
    oracle, sentences = paper.DSpERT(pipeline.model), cases.read(pipeline)
    return [oracle.promise(sentences[row], (start, end)) for row, start, end in spans.tolist()]


@torch.no_grad()
def unfiltered(build: cases.Builder, pipeline: Pipeline) -> Pipeline:
    """The same weights without the filter."""
    plain = build("dspert")
    plain.model.load_state_dict(pipeline.model.state_dict(), strict=False)
    return plain


@torch.no_grad()
def test_a_filter_that_all_spans_pass_changes_nothing(build: cases.Builder) -> None:
    pipeline = build("dspert", keep=1e-9)
    batch = cases.batch_of(pipeline)
    scores, plain = pipeline.model(batch), unfiltered(build, pipeline).model(batch)
    assert torch.equal(scores.spans, plain.spans)
    assert torch.equal(scores.logits, plain.logits)
    assert scores.promise.sigmoid().tolist() == pytest.approx(chances_of(pipeline, batch.spans), abs=1e-5)


@torch.no_grad()
def test_only_promising_spans_are_read_and_no_other_is_predicted(build: cases.Builder) -> None:
    batch = cases.batch_of(build("dspert"))
    chances = chances_of(build("dspert", keep=0.5), batch.spans)
    middle = pairwise(sorted(chances)[len(chances) // 4 : -len(chances) // 4])
    low, high = max(middle, key=lambda pair: pair[1] - pair[0])
    pipeline = build("dspert", keep=(low + high) / 2)
    plain = unfiltered(build, pipeline)
    scores, every = pipeline.model(batch), plain.model(batch)
    passed = torch.tensor([chance >= high for chance in chances])
    assert torch.equal(scores.spans, batch.spans[passed])
    torch.testing.assert_close(scores.logits, every.logits[passed], **CLOSE)
    read = {tuple(span) for span in scores.spans.tolist()}
    dropped = 0
    found, wanted = (one.model.decode(s, batch, ANY_SURE) for one, s in ((pipeline, scores), (plain, every)))
    for row, (one, other) in enumerate(zip(found, wanted, strict=True)):
        kept = [span[:3] for span in other.spans if (row, *span[:2]) in read]
        assert [span[:3] for span in one.spans] == kept
        dropped += len(other.spans) - len(kept)
    assert dropped > 0


@pytest.mark.parametrize(
    "options", [{}, {"shared": True}, {"depth": 0}, {"aggregation": "mean"}, {"nested": False}], ids=str
)
def test_where_no_span_is_promising_nothing_is_found(build: cases.Builder, options: dict[str, Any]) -> None:
    pipeline = build("dspert", keep=1 - 1e-9, **options)
    with torch.no_grad():
        scores = pipeline.model(cases.batch_of(pipeline))
    assert scores.logits.shape == (0, 1 + len(cases.LABELS))
    assert not any(document.entities for document in pipeline.predict(cases.corpus().splits["train"]))


def in_training(build: cases.Builder, **options: Any) -> tuple[Pipeline, Batch, Any]:
    """A model with a filter that nothing would pass, what it learns from, and what it makes of it."""
    pipeline = build("dspert", keep=1 - 1e-9, **options)
    pipeline.model.train()
    cases.without_dropout(pipeline.model)
    batch = cases.batch_of(pipeline, training=True)
    return pipeline, batch, pipeline.model(batch)


def all_gold() -> set[tuple[int, int, int]]:
    return {(row, start, end) for row in range(len(cases.SENTENCES)) for start, end, _ in cases.gold_of(row)}


def promise_loss(pipeline: Pipeline, spans: Tensor) -> float:
    """Cross entropy of all spans, each once, with whether they are gold; a mean over sentences."""
    spans = spans.unique(dim=0)
    chances = zip(map(tuple, spans.tolist()), chances_of(pipeline, spans), strict=True)
    gold = all_gold()
    total = -sum(float(np.log(chance if span in gold else 1 - chance)) for span, chance in chances)
    return total / len(cases.SENTENCES)


@pytest.mark.parametrize("negatives", ["all", 3, 1])
def test_the_filter_learns_from_all_spans_and_teaches_nothing_but_itself(
    build: cases.Builder, negatives: int | str
) -> None:
    pipeline, batch, scores = in_training(build, negatives=negatives)
    loss = pipeline.model.loss(scores, batch)
    assert {tuple(span) for span in batch.spans.tolist()} == set(map(tuple, cases.batch_of(pipeline).spans.tolist()))
    assert loss.terms["promise"].item() == pytest.approx(promise_loss(pipeline, batch.spans), rel=1e-5)
    assert loss.total.item() == pytest.approx(sum(term.item() for term in loss.terms.values()), rel=1e-5)
    loss.terms["promise"].backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in pipeline.model.promise.parameters())
    assert all(parameter.grad is None for parameter in pipeline.model.encoder.parameters())


def test_with_all_negatives_the_filter_drops_nothing_in_training(build: cases.Builder) -> None:
    pipeline, batch, scores = in_training(build)
    wanted = cases.loss_of(pipeline.model.config, batch, by_the_paper(pipeline).logits)
    assert torch.equal(scores.spans, batch.spans)
    assert pipeline.model.loss(scores, batch).terms["spans"].item() == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("negatives", [1, 4, 5, 1000])
def test_a_filter_draws_half_of_the_negatives_by_their_promise(build: cases.Builder, negatives: int) -> None:
    pipeline, batch, scores = in_training(build, negatives=negatives)
    gold, weights = all_gold(), {}
    read = [tuple(span) for span in scores.spans.tolist()]
    for row in range(len(cases.SENTENCES)):
        spans = batch.spans[(batch.spans[:, 0] == row) & (batch.span_labels == 0)]
        chances = zip(chances_of(pipeline, spans), map(tuple, spans.tolist()), strict=True)
        ranked = [span for _, span in sorted(chances, reverse=True)]
        hard, rest = ranked[: negatives // 2], ranked[negatives // 2 :]
        mine = [span for span in read if span[0] == row]
        lots = set(mine) - set(hard) - gold
        assert set(mine) >= {span for span in gold if span[0] == row and span[2] - span[1] <= cases.WIDEST} | set(hard)
        assert lots <= set(rest)
        assert len(lots) == min(negatives - negatives // 2, len(rest))
        weights |= {span: len(rest) / len(lots) if span in lots else 1.0 for span in mine}
    wanted = cases.loss_of(pipeline.model.config, batch, by_the_paper(pipeline).logits, weights)
    assert pipeline.model.loss(scores, batch).terms["spans"].item() == pytest.approx(wanted, rel=1e-5)


def test_a_filter_draws_others_every_time(build: cases.Builder) -> None:
    pipeline, batch, scores = in_training(build, negatives=4)
    again = [pipeline.model(batch).spans.tolist() for _ in range(4)]
    assert any(spans != scores.spans.tolist() for spans in again)


@pytest.mark.parametrize(
    "options", [{}, {"shared": True}, {"depth": 1}, {"lstm": 6}, {"aggregation": "additive", "keep": 0.01}], ids=str
)
def test_scores_are_the_same_after_save_and_load(build: cases.Builder, tmp_path: Path, options: dict[str, Any]) -> None:
    pipeline = build("dspert", encoder={"word_shapes": True}, **options)
    pretrained.save(pipeline, tmp_path / "model")
    loaded = pretrained.load(tmp_path / "model")
    with torch.no_grad():
        scores, again = (one.model(cases.batch_of(one)) for one in (pipeline, loaded))
    assert len(scores.logits) > 0
    assert all(torch.equal(getattr(scores, name), getattr(again, name)) for name in ("spans", "logits", "z", "promise"))


BUNDLES = [("dspert", "seq-ner"), ("seq-ner", "dspert")]


@pytest.fixture(params=BUNDLES, ids=lambda names: "-with-".join(names))
def bundle(request: pytest.FixtureRequest, make_pipeline: Callable[..., Pipeline]) -> Pipeline:
    """DSpERT and a tagger on the tiny encoder of two blocks, in training, without dropout."""
    reader, partner = request.param
    pipeline = make_pipeline(reader, bundle={"name": partner, "alpha": 0.3})
    pipeline.model.train()
    cases.without_dropout(pipeline.model)
    return pipeline


def members(pipeline: Pipeline) -> tuple[Any, Any]:
    """The tagger and the span model."""
    reader, partner = pipeline.model.reader, pipeline.model.partner
    return (reader, partner) if reader.can.tagger else (partner, reader)


def test_bundled_with_a_tagger_both_score_and_learn_as_they_do_alone(bundle: Pipeline, flat_corpus: Corpus) -> None:
    examples = [e for group in bundle.builder.build(flat_corpus.splits["train"], gold=True) for e in group]
    batch = bundle.collate(examples, rng=np.random.default_rng(0))
    tagger, deep = members(bundle)
    assert (tagger.levels, deep.levels, bundle.model.levels) == (0, 2, 2)
    loss = bundle.model.loss(bundle.model(batch), batch)
    tags, spans = (one.loss(one(batch), batch).total.item() for one in (tagger, deep))
    assert loss.total.item() == pytest.approx(0.3 * tags + 0.7 * spans, rel=1e-5)
    loss.total.backward()
    assert tagger.emit.weight.grad.abs().max() > 0
    assert deep.own[0].output.dense.weight.grad.abs().max() > 0
    found = bundle.predict(flat_corpus.splits["train"])
    bundle.model = bundle.model.alone
    assert bundle.predict(flat_corpus.splits["train"]) == found


def rates_of(pipeline: Pipeline) -> dict[str, float]:
    names = {id(parameter): name for name, parameter in pipeline.model.named_parameters()}
    groups = optimizer_for(pipeline.model, TrainSection(encoder_lr=1e-4, task_lr=1e-3)).param_groups
    return {names[id(parameter)]: group["lr"] for group in groups for parameter in group["params"]}


@pytest.mark.parametrize("options", [{}, {"shared": True}, {"lstm": 6, "aggregation": "additive"}], ids=str)
def test_blocks_of_spans_learn_as_slowly_as_the_encoder(build: cases.Builder, options: dict[str, Any]) -> None:
    pipeline = build("dspert", encoder={"word_shapes": True}, **options)
    rates = rates_of(pipeline)
    slow = {name for name, rate in rates.items() if rate == 1e-4}
    assert set(rates) == {name for name, _ in pipeline.model.named_parameters()}
    assert slow == {name for name in rates if name.startswith(("encoder.transformer.", "own."))}
    assert any(name.startswith("own.") for name in slow) != pipeline.model.config.shared


def test_blocks_of_spans_learn_as_slowly_in_a_bundle(bundle: Pipeline) -> None:
    slow = {name for name, rate in rates_of(bundle).items() if rate == 1e-4}
    wanted = {n for n, _ in bundle.model.named_parameters() if n.startswith("encoder.transformer.") or ".own." in n}
    assert slow == wanted


@pytest.mark.parametrize(
    "options",
    [
        {"lstm": 6, "negatives": 9},
        {"lstm": 6, "keep": 0.1},
        {"keep": 0.0},
        {"keep": 1.0},
        {"depth": -1},
        {"aggregation": "min"},
        {"negatives": 0},
        {"smoothing": 1.0},
        {"smoothing_distance": 0},
    ],
    ids=str,
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DSpERTConfig(**options)


def test_more_blocks_than_the_encoder_has_are_refused(build: cases.Builder) -> None:
    with pytest.raises(RecipeError, match=r"model\.depth is 4, but the encoder has 3 blocks; set it to 3"):
        build("dspert", depth=4)
