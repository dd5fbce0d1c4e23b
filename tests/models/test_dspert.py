"""DSpERT against equations 1 to 7 as loops, in every depth and with every option; and what it adds to the paper."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import deep_cases as cases
import dspert_oracle as paper
import joint_oracle
import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

import bl_ner_oracle
from model_batches import arrays, at_least, batch_of, predictions
from spanwise.corpora import Corpus
from spanwise.errors import RecipeError
from spanwise.models.dspert import DSpERTConfig
from spanwise.pipeline import folder
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import TrainSection
from spanwise.seam.batch import Batch
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
    "multi-label": {"multi_label": True},
    "multi-label-smoothed-far": {"multi_label": True, "smoothing": 0.6, "smoothing_distance": 2},
}
ANY = at_least(*[0.0] * len(cases.LABELS))


class Wanted(NamedTuple):
    """What the paper makes of the spans of each sentence."""

    logits: list[dict[paper.Span, Tensor]]
    z: list[dict[paper.Span, Tensor]]


def by_the_paper(pipeline: TorchPipeline) -> Wanted:
    rows = [paper.DSpERT(pipeline.model).score(sentence) for sentence in cases.read(pipeline)]
    logits, z = ([{span: getattr(one, what) for span, one in row.items()} for row in rows] for what in ("logits", "z"))
    return Wanted(logits, z)


class Case(NamedTuple):
    """What a model makes of the batch, and what the paper makes of each sentence by itself."""

    pipeline: TorchPipeline
    model: Any
    batch: Batch[Tensor]
    wanted: Wanted


@pytest.fixture(scope="module", params=SETTINGS)
def case(request: pytest.FixtureRequest, build: cases.Builder) -> Case:
    pipeline = build("dspert", **SETTINGS[request.param])
    return Case(pipeline, pipeline.model, cases.batch_of(pipeline), by_the_paper(pipeline))


def proposed(pipeline: TorchPipeline, batch: Batch[Tensor]) -> Tensor:
    """The spans that stage two is asked for."""
    read = arrays(batch)
    proposal = pipeline.reader.decoder.propose(pipeline.runner.forward(read).scores, read, ANY)
    rows = [torch.from_numpy(row.spans) for row in proposal.rows]
    assert len(rows) <= 1
    return rows[0] if rows else torch.zeros(0, 3, dtype=torch.long)


def test_all_spans_up_to_the_width_are_scored(case: Case) -> None:
    wanted = [(row, *span) for row, spans in enumerate(case.wanted.logits) for span in sorted(spans)]
    assert [tuple(span) for span in proposed(case.pipeline, case.batch).tolist()] == wanted


@torch.no_grad()
def test_logits_and_what_they_are_computed_from_are_those_of_equations_1_to_6(case: Case) -> None:
    spans = case.batch.proposals.spans
    z = case.model.classifier.reduced(case.model.represent(case.model(case.batch).features, spans), spans)
    for found, wanted in ((cases.logits_of(case.pipeline, case.batch), case.wanted.logits), (z, case.wanted.z)):
        torch.testing.assert_close(found.double(), cases.in_order(spans, wanted), **CLOSE)


@torch.no_grad()
def test_the_loss_is_equation_7_smoothed(case: Case) -> None:
    loss = case.model.training_loss(case.batch)
    wanted = cases.loss_of(case.model.config, case.batch, case.wanted.logits)
    assert loss.total.item() == pytest.approx(wanted, rel=1e-5)
    assert loss.terms == {"spans": loss.total}


@torch.no_grad()
@pytest.mark.parametrize(
    "options", [{}, {"smoothing": 0.0}, {"smoothing_distance": 2}, {"depth": 0}, {"multi_label": True}], ids=str
)
def test_sampled_negatives_are_as_many_as_asked_for_and_weighted_in_the_loss(
    build: cases.Builder, options: dict[str, Any]
) -> None:
    pipeline = build("dspert", negatives=3, **options)
    model: Any = pipeline.model
    batch = cases.batch_of(pipeline, training=True)
    spans, labels = batch.proposals.spans, batch.proposals.labels
    assert spans[~labels.any(-1)][:, 0].bincount().tolist() == [3, 0, 3, 3, 3]
    wanted = by_the_paper(pipeline).logits
    torch.testing.assert_close(cases.logits_of(pipeline, batch).double(), cases.in_order(spans, wanted), **CLOSE)
    loss = model.training_loss(batch).total.item()
    assert loss == pytest.approx(cases.loss_of(model.config, batch, wanted), rel=1e-5)


def test_all_negatives_are_in_a_training_batch_unless_a_number_is_given(build: cases.Builder) -> None:
    pipeline = build("dspert")
    batches = (cases.batch_of(pipeline, training=learns) for learns in (False, True))
    reading, training = ({tuple(span) for span in batch.proposals.spans.tolist()} for batch in batches)
    assert training == reading


@pytest.mark.parametrize("options", [{}, {"aggregation": "additive"}, {"depth": 0}, {"lstm": 6}], ids=str)
def test_a_span_scores_the_same_where_its_label_is_known(build: cases.Builder, options: dict[str, Any]) -> None:
    """In training gold spans come first: whatever runs along the spans must not see it."""
    pipeline = build("dspert", **options)
    reading, training = (cases.batch_of(pipeline, training=learns) for learns in (False, True))
    rows = zip(reading.proposals.spans.tolist(), cases.logits_of(pipeline, reading), strict=True)
    read = {tuple(span): row for span, row in rows}
    wanted = torch.stack([read[tuple(span)] for span in training.proposals.spans.tolist()])
    torch.testing.assert_close(cases.logits_of(pipeline, training), wanted, **CLOSE)


@pytest.mark.parametrize("nested", [True, False])
def test_predictions_are_the_spans_whose_best_class_is_a_type(build: cases.Builder, nested: bool) -> None:
    pipeline = build("dspert", nested=nested)
    predicted = predictions(pipeline, cases.batch_of(pipeline), ANY)
    assert sum(len(prediction.spans) for prediction in predicted) >= 5
    for prediction, spans in zip(predicted, by_the_paper(pipeline).logits, strict=True):
        chances = {span: joint_oracle.softmax(logits.tolist()) for span, logits in spans.items()}
        found = [(*span, c.index(max(c)) - 1, max(c)) for span, c in chances.items() if c[0] < max(c)]
        wanted = found if nested else bl_ner_oracle.heuristic(found)
        assert [span[:3] for span in sorted(prediction.spans)] == [span[:3] for span in sorted(wanted)]
        assert [span[3] for span in sorted(prediction.spans)] == pytest.approx([s[3] for s in sorted(wanted)], abs=1e-5)


@pytest.mark.parametrize("nested", [True, False])
def test_with_several_labels_per_span_predictions_are_all_that_are_probable_enough(
    build: cases.Builder, nested: bool
) -> None:
    pipeline = build("dspert", nested=nested, multi_label=True)
    predicted = predictions(pipeline, cases.batch_of(pipeline), at_least(0.3, 0.35, 0.4))
    shared = 0
    for prediction, spans in zip(predicted, by_the_paper(pipeline).logits, strict=True):
        found = [
            (*span, label, joint_oracle.sigmoid(score))
            for span, logits in spans.items()
            for label, score in enumerate(logits.tolist())
            if joint_oracle.sigmoid(score) >= (0.3, 0.35, 0.4)[label]
        ]
        wanted = sorted(found if nested else bl_ner_oracle.heuristic(found, shared=True))
        assert [span[:3] for span in sorted(prediction.spans)] == [span[:3] for span in wanted]
        shared += len(wanted) - len({span[:2] for span in wanted})
    assert shared > 3


def chances_of(pipeline: TorchPipeline, spans: Tensor) -> list[float]:
    """The screening probability of each span."""
    oracle, sentences = paper.DSpERT(pipeline.model), cases.read(pipeline)
    return [oracle.screening(sentences[row], (start, end)) for row, start, end in spans.tolist()]


@torch.no_grad()
def unscreened(build: cases.Builder, pipeline: TorchPipeline) -> TorchPipeline:
    """The same weights without screening."""
    plain = build("dspert")
    plain.model.load_state_dict(pipeline.model.state_dict(), strict=False)
    return plain


@torch.no_grad()
def test_screening_that_all_spans_pass_changes_nothing(build: cases.Builder) -> None:
    pipeline = build("dspert", screening_threshold=1e-9)
    batch, plain = cases.batch_of(pipeline), unscreened(build, pipeline)
    spans = batch.proposals.spans
    assert torch.equal(proposed(pipeline, batch), spans)
    assert torch.equal(cases.logits_of(pipeline, batch), cases.logits_of(plain, batch))
    screening = pipeline.model(batch).scores.screening
    assert screening.sigmoid().tolist() == pytest.approx(chances_of(pipeline, spans), abs=1e-5)
    assert predictions(pipeline, batch, ANY) == predictions(plain, batch, ANY)


@torch.no_grad()
def test_only_spans_that_pass_the_screening_are_scored_and_no_other_is_predicted(build: cases.Builder) -> None:
    batch = cases.batch_of(build("dspert"))
    spans = batch.proposals.spans
    chances = chances_of(build("dspert", screening_threshold=0.5), spans)
    middle = pairwise(sorted(chances)[len(chances) // 4 : -len(chances) // 4])
    low, high = max(middle, key=lambda pair: pair[1] - pair[0])
    pipeline = build("dspert", screening_threshold=(low + high) / 2)
    plain = unscreened(build, pipeline)
    passed = torch.tensor([chance >= high for chance in chances])
    assert torch.equal(proposed(pipeline, batch), spans[passed])
    some, every = cases.logits_of(pipeline, batch, spans[passed]), cases.logits_of(plain, batch)
    torch.testing.assert_close(some, every[passed], **CLOSE)
    read = {tuple(span) for span in spans[passed].tolist()}
    dropped = 0
    found, wanted = (predictions(one, batch, ANY) for one in (pipeline, plain))
    for row, (one, other) in enumerate(zip(found, wanted, strict=True)):
        kept = [span[:3] for span in other.spans if (row, *span[:2]) in read]
        assert [span[:3] for span in one.spans] == kept
        dropped += len(other.spans) - len(kept)
    assert dropped > 0


@pytest.mark.parametrize(
    "options", [{}, {"shared": True}, {"depth": 0}, {"aggregation": "mean"}, {"nested": False}], ids=str
)
def test_where_no_span_passes_the_screening_nothing_is_found(build: cases.Builder, options: dict[str, Any]) -> None:
    pipeline = build("dspert", screening_threshold=1 - 1e-9, **options)
    batch = cases.batch_of(pipeline)
    assert len(proposed(pipeline, batch)) == 0
    assert cases.logits_of(pipeline, batch, batch.proposals.spans[:0]).shape == (0, 1 + len(cases.LABELS))
    assert not any(document.entities for document in pipeline.predict(cases.corpus().splits["train"]))


def in_training(build: cases.Builder, **options: Any) -> tuple[TorchPipeline, Any, Batch[Tensor]]:
    """A model with a screening that nothing would pass, and what it learns from."""
    pipeline = build("dspert", screening_threshold=1 - 1e-9, **options)
    pipeline.model.train()
    cases.without_dropout(pipeline.model)
    return pipeline, pipeline.model, cases.batch_of(pipeline, training=True)


def all_gold() -> set[tuple[int, int, int]]:
    return {(row, start, end) for row in range(len(cases.SENTENCES)) for start, end, _ in cases.gold_of(row)}


def screening_loss(pipeline: TorchPipeline, spans: Tensor) -> float:
    """Cross entropy of all spans, each once, with whether they are gold; a mean over sentences."""
    spans = spans.unique(dim=0)
    chances = zip(map(tuple, spans.tolist()), chances_of(pipeline, spans), strict=True)
    gold = all_gold()
    total = -sum(float(np.log(chance if span in gold else 1 - chance)) for span, chance in chances)
    return total / len(cases.SENTENCES)


@pytest.mark.parametrize("negatives", ["all", 3, 1])
def test_screening_learns_from_all_spans_and_teaches_nothing_but_itself(
    build: cases.Builder, negatives: int | str
) -> None:
    pipeline, model, batch = in_training(build, negatives=negatives)
    spans = batch.proposals.spans
    loss = model.training_loss(batch)
    reading = cases.batch_of(pipeline).proposals.spans
    assert {tuple(span) for span in spans.tolist()} == set(map(tuple, reading.tolist()))
    assert loss.terms["screening"].item() == pytest.approx(screening_loss(pipeline, spans), rel=1e-5)
    assert loss.total.item() == pytest.approx(sum(term.item() for term in loss.terms.values()), rel=1e-5)
    loss.terms["screening"].backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in model.screening.parameters())
    assert all(parameter.grad is None for parameter in model.encoder.parameters())


def test_with_all_negatives_screening_drops_nothing_in_training(build: cases.Builder) -> None:
    pipeline, model, batch = in_training(build)
    wanted = cases.loss_of(model.config, batch, by_the_paper(pipeline).logits)
    assert torch.equal(model.training_rows(model(batch), batch).spans, batch.proposals.spans)
    assert model.training_loss(batch).terms["spans"].item() == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("negatives", [1, 4, 5, 1000])
def test_screening_samples_half_of_the_negatives_by_score(build: cases.Builder, negatives: int) -> None:
    pipeline, model, batch = in_training(build, negatives=negatives)
    gold, weights = all_gold(), {}
    torch.manual_seed(3)
    sampled = [tuple(span) for span in model.training_rows(model(batch), batch).spans.tolist()]
    candidates = batch.proposals.spans[~batch.proposals.labels.any(-1)]
    for row in range(len(cases.SENTENCES)):
        spans = candidates[candidates[:, 0] == row]
        chances = zip(chances_of(pipeline, spans), map(tuple, spans.tolist()), strict=True)
        ranked = [span for _, span in sorted(chances, reverse=True)]
        hard, rest = ranked[: negatives // 2], ranked[negatives // 2 :]
        mine = [span for span in sampled if span[0] == row]
        random = set(mine) - set(hard) - gold
        assert set(mine) >= {span for span in gold if span[0] == row and span[2] - span[1] <= cases.WIDEST} | set(hard)
        assert random <= set(rest)
        assert len(random) == min(negatives - negatives // 2, len(rest))
        weights |= {span: len(rest) / len(random) if span in random else 1.0 for span in mine}
    torch.manual_seed(3)
    loss = model.training_loss(batch).terms["spans"].item()
    assert loss == pytest.approx(cases.loss_of(model.config, batch, by_the_paper(pipeline).logits, weights), rel=1e-5)


def test_screening_samples_other_negatives_every_time(build: cases.Builder) -> None:
    _, model, batch = in_training(build, negatives=4)
    samples = [model.training_rows(model(batch), batch).spans.tolist() for _ in range(5)]
    assert any(sample != samples[0] for sample in samples)


def test_the_loss_needs_the_rows_of_training(build: cases.Builder) -> None:
    pipeline = build("dspert")
    model: Any = pipeline.model
    batch = cases.batch_of(pipeline)
    with pytest.raises(TypeError, match="the loss is computed from training_rows"):
        model.loss(model(batch), None, batch)


@pytest.mark.parametrize(
    "options",
    [{}, {"shared": True}, {"depth": 1}, {"lstm": 6}, {"aggregation": "additive", "screening_threshold": 0.01}],
    ids=str,
)
def test_scores_are_the_same_after_save_and_load(build: cases.Builder, tmp_path: Path, options: dict[str, Any]) -> None:
    pipeline = build("dspert", encoder={"word_shapes": True}, **options)
    folder.save(pipeline, tmp_path / "model")
    loaded = folder.load(tmp_path / "model")
    batch = cases.batch_of(pipeline)
    with torch.no_grad():
        screening, again = (one.model(cases.batch_of(one)).scores.screening for one in (pipeline, loaded))
    assert torch.equal(screening, again)
    assert len(batch.proposals.spans) > 50
    assert torch.equal(cases.logits_of(pipeline, batch), cases.logits_of(loaded, batch))


BUNDLES = [("dspert", "seq-ner"), ("seq-ner", "dspert")]


@pytest.fixture(params=BUNDLES, ids=lambda names: "-with-".join(names))
def bundle(request: pytest.FixtureRequest, make_pipeline: Callable[..., TorchPipeline]) -> TorchPipeline:
    """DSpERT and a tagger on the tiny encoder of two blocks, in training, without dropout."""
    reader, partner = request.param
    pipeline = make_pipeline(reader, bundle={"name": partner, "alpha": 0.3})
    pipeline.model.train()
    cases.without_dropout(pipeline.model)
    return pipeline


def members(pipeline: TorchPipeline) -> tuple[Any, Any]:
    """The tagger and the span model."""
    model: Any = pipeline.model
    return (model.reader, model.partner) if model.reader.traits.tagger else (model.partner, model.reader)


def test_bundled_with_a_tagger_both_score_and_learn_as_they_do_alone(
    bundle: TorchPipeline, flat_corpus: Corpus
) -> None:
    batch = batch_of(bundle, flat_corpus.splits["train"], np.random.default_rng(0))
    tagger, deep = members(bundle)
    assert (tagger.traits.hidden_states, deep.traits.hidden_states) == (0, "all")
    of_spans = batch if len(batch.proposals.spans) else batch.for_partner()
    loss = bundle.model.training_loss(batch)
    tags, spans = tagger.training_loss(batch).total.item(), deep.training_loss(of_spans).total.item()
    assert loss.total.item() == pytest.approx(0.3 * tags + 0.7 * spans, rel=1e-5)
    loss.total.backward()
    assert tagger.emit.weight.grad.abs().max() > 0
    assert deep.span_blocks[0].output.dense.weight.grad.abs().max() > 0


def rates_of(pipeline: TorchPipeline) -> dict[str, float]:
    names = {id(parameter): name for name, parameter in pipeline.model.named_parameters()}
    groups = optimizer_for(pipeline.model, TrainSection(encoder_lr=1e-4, task_lr=1e-3)).param_groups
    return {names[id(parameter)]: group["lr"] for group in groups for parameter in group["params"]}


@pytest.mark.parametrize("options", [{}, {"shared": True}, {"lstm": 6, "aggregation": "additive"}], ids=str)
def test_blocks_of_spans_learn_as_slowly_as_the_encoder(build: cases.Builder, options: dict[str, Any]) -> None:
    pipeline = build("dspert", encoder={"word_shapes": True}, **options)
    rates = rates_of(pipeline)
    slow = {name for name, rate in rates.items() if rate == 1e-4}
    assert set(rates) == {name for name, _ in pipeline.model.named_parameters()}
    assert slow == {name for name in rates if name.startswith(("encoder.transformer.", "span_blocks."))}
    assert any(name.startswith("span_blocks.") for name in slow) != options.get("shared", False)


def test_blocks_of_spans_learn_as_slowly_in_a_bundle(bundle: TorchPipeline) -> None:
    slow = {name for name, rate in rates_of(bundle).items() if rate == 1e-4}
    wanted = {
        n for n, _ in bundle.model.named_parameters() if n.startswith("encoder.transformer.") or ".span_blocks." in n
    }
    assert slow == wanted


@pytest.mark.parametrize(
    "options",
    [
        {"lstm": 6, "negatives": 9},
        {"lstm": 6, "screening_threshold": 0.1},
        {"screening_threshold": 0.0},
        {"screening_threshold": 1.0},
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
