"""Tuning of models whose gold was drawn from their own probabilities at a known temperature."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from spanwise.corpora import Corpus
from spanwise.decoding.spans import SpanDecoder, SpanScores
from spanwise.document import Document, Entity, Relation
from spanwise.errors import InputError, SchemaError
from spanwise.evaluation import Objective, evaluate, tune, tuning_effects
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.pipeline.tuning import Tuning
from spanwise.seam.batch import Array, Batch, Floats
from spanwise.seam.decoder import NoRows, PredictedSpans, Proposal, ScoreThresholds
from spanwise.seam.runner import Arrays, Runner, StageOne
from spanwise.testing.samples import FLAT, FLAT_LINKS, sample_corpus

Make = Callable[..., TorchPipeline]
KNOWN = 2.5  # the temperature that gold is drawn with


class LoudRunner:
    """The scores of an untrained model, as far apart and as rarely positive as those of a trained one."""

    def __init__(self, runner: Runner, gain: float, shift: float) -> None:
        self.runner, self.gain, self.shift = runner, gain, shift

    def forward(self, batch: Batch[Array]) -> StageOne:
        found = self.runner.forward(batch)
        return found._replace(scores=self._loud(found.scores))

    def rescore(self, features: object, rows: Arrays) -> Arrays:
        return self._loud(self.runner.rescore(features, rows))

    def _loud(self, scores: Arrays) -> Arrays:
        return type(scores)._make(self.gain * array - self.shift for array in scores)  # type: ignore[attr-defined,no-any-return]


@dataclass(frozen=True)
class Drawn:
    extractor: Extractor
    gold: list[Document]


def texts(number: int) -> list[Document]:
    rng = np.random.default_rng(5)
    words = ["Mara", "Ostrow", "met", "Bo", "Lind", "in", "Brenford", "Kell", "Acme", "University", "of", "rain"]
    return [Document(" ".join(rng.choice(words, 7)), id=str(index)) for index in range(number)]


def drawn(pipeline: TorchPipeline, number: int, gain: float = 40, shift: float = 0) -> Drawn:
    """A model, and gold that holds each of its predictions with the probability it has at the known temperature."""
    pipeline.runner = LoudRunner(pipeline.runner, gain, shift)
    extractor = Extractor(pipeline)
    at = Tuning(threshold=0.0, relation_threshold=0.0, temperature=KNOWN, relation_temperature=KNOWN)
    rng = np.random.default_rng(6)
    return Drawn(extractor, [kept(row, rng) for row in extractor.with_tuning(at).stream(texts(number))])


def kept(document: Document, rng: np.random.Generator) -> Document:
    entities = [entity for entity in document.entities if rng.random() < (entity.score or 0)]
    place = {entity: index for index, entity in enumerate(entities)}
    ends = [(document.entities[r.head], document.entities[r.tail], r) for r in document.relations]
    relations = [
        Relation(place[head], place[tail], r.label)
        for head, tail, r in ends
        if head in place and tail in place and rng.random() < (r.score or 0)
    ]
    plain = [Entity(entity.start, entity.end, entity.label) for entity in entities]
    return replace(document, entities=tuple(plain), relations=tuple(relations))


@pytest.fixture(scope="module")
def spans(make_pipeline: Make) -> Drawn:
    """A nested model with one sigmoid per label: no prediction depends on another."""
    return drawn(make_pipeline("span-ner", nested=True, multi_label=True, max_width=2), 150, gain=8, shift=4)


@pytest.fixture(scope="module")
def flat(make_pipeline: Make) -> Drawn:
    """A flat model, where the most probable of overlapping spans remains."""
    return drawn(make_pipeline("span-ner", max_width=3), 60)


@pytest.fixture(scope="module")
def linked(make_pipeline: Make) -> Drawn:
    corpus = sample_corpus("linked", FLAT, FLAT_LINKS)
    return drawn(make_pipeline("spert", corpus, max_width=2), 60)


def test_the_known_temperature_is_found_and_lowers_the_calibration_error(spans: Drawn) -> None:
    result = tune(spans.extractor, spans.gold)
    assert result.tuning.temperature == pytest.approx(KNOWN, rel=0.15)
    before, after = result.before.calibration_error, result.calibrated.calibration_error
    assert before is not None
    assert after is not None
    assert after < 0.05 < 0.1 < before
    assert result.calibrated.scores == result.before.scores  # the same predictions with other probabilities


def test_a_softmax_model_with_its_own_threshold_gets_the_known_temperature(make_pipeline: Make) -> None:
    pipeline = make_pipeline("span-ner", nested=True, max_width=3)
    pipeline.threshold = 0.5
    known = drawn(pipeline, 150, gain=4)
    result = tune(known.extractor, known.gold)
    assert result.notes == ()
    assert result.tuning.temperature == pytest.approx(KNOWN, rel=0.2)
    before, after = result.before.calibration_error, result.calibrated.calibration_error
    assert before is not None
    assert after is not None
    assert after < before / 2


class FixedTemperature(SpanDecoder):
    """A decoder, as of a plug-in, that does not apply the temperature."""

    def propose(
        self,
        first: SpanScores[Floats],
        batch: Batch[Array],
        thresholds: ScoreThresholds,
        given: PredictedSpans | None = None,
    ) -> Proposal[NoRows]:
        return super().propose(first, batch, thresholds._replace(temperature=1.0), given)


def test_a_decoder_without_temperature_is_the_reason_that_is_given(make_pipeline: Make) -> None:
    pipeline = make_pipeline("span-ner", nested=True, max_width=2)
    pipeline.reader = replace(pipeline.reader, decoder=FixedTemperature(nested=True))
    pipeline.task = pipeline.task_for(pipeline.schema)
    known = drawn(pipeline, 60, gain=8)
    result = tune(known.extractor, known.gold)
    assert result.tuning.temperature == 1.0
    assert "entities: the temperature stays 1: the decoder's scores do not depend on the temperature." in result.notes


def test_the_numbers_shown_are_those_of_predictions_with_the_stored_values(flat: Drawn) -> None:
    result = tune(flat.extractor, flat.gold)
    assert result.before.scores == evaluate(flat.extractor, flat.gold)
    assert result.after.scores == evaluate(flat.extractor.with_tuning(result.tuning), flat.gold)
    assert result.after.scores.entities.micro.f1 >= result.before.scores.entities.micro.f1


def test_without_temperature_only_thresholds_change(spans: Drawn) -> None:
    result = tune(spans.extractor, spans.gold, temperature=False)
    assert result.tuning.temperature == 1.0
    assert result.after.scores.entities.micro.f1 > result.before.scores.entities.micro.f1
    for label, score in result.after.scores.entities.labels.items():
        assert score.f1 >= result.before.scores.entities.labels[label].f1


def test_no_threshold_of_a_label_beats_the_chosen_one_where_spans_do_not_interact(spans: Drawn) -> None:
    result = tune(spans.extractor, spans.gold, temperature=False)
    tuned = spans.extractor.with_tuning(result.tuning)
    for label in spans.extractor.schema.entity_names:
        best = result.after.scores.entities.labels[label].f1
        for other in (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95):
            scores = evaluate(tuned, spans.gold, threshold={label: other}).entities.labels
            assert label not in scores or scores[label].f1 <= best + 1e-12


@pytest.mark.parametrize("required", [0.75, 0.85])
def test_a_required_precision_is_reached_for_every_label(spans: Drawn, required: float) -> None:
    result = tune(spans.extractor, spans.gold, Objective("precision", required))
    scores = result.after.scores.entities
    assert scores.micro.precision >= required
    assert all(score.precision >= required for score in scores.labels.values())
    assert scores.micro.recall > 0.1


def test_a_required_recall_is_reached(spans: Drawn) -> None:
    result = tune(spans.extractor, spans.gold, Objective("recall", 0.9))
    scores = result.after.scores.entities
    assert scores.micro.recall >= 0.9 > result.before.scores.entities.micro.recall
    assert all(score.recall >= 0.9 for score in scores.labels.values())


def test_a_precision_that_cannot_be_reached_is_refused_with_the_highest(flat: Drawn) -> None:
    wrong = [replace(document, entities=(Entity(0, len(document.text), "Person"),)) for document in flat.gold]
    with pytest.raises(InputError, match=r"no thresholds reach precision 0.999 on this data \(highest: 0\.\d+\)"):
        tune(flat.extractor, wrong, Objective("precision", 0.999))


def test_the_highest_precision_of_a_refusal_can_be_required(flat: Drawn) -> None:
    """Every second document lost its gold, so no threshold is exact, but a high one is better than the model's own."""
    half = [replace(row, entities=() if index % 2 else row.entities) for index, row in enumerate(flat.gold)]
    with pytest.raises(InputError) as refused:
        tune(flat.extractor, half, Objective("precision", 0.999), temperature=False)
    (highest,) = re.findall(
        r"entities: no thresholds reach precision 0.999 .*\(highest: (0\.\d+)\)", str(refused.value)
    )
    result = tune(flat.extractor, half, Objective("precision", float(highest) - 0.001), temperature=False)
    reached = result.after.scores.entities.micro.precision
    assert float(highest) - 0.001 <= reached <= float(highest) + 0.001
    assert reached > result.before.scores.entities.micro.precision


def test_too_little_gold_to_choose_a_threshold_is_the_only_reason_given(spans: Drawn) -> None:
    few = [replace(row, entities=row.entities[:1] if index < 5 else ()) for index, row in enumerate(spans.gold)]
    with pytest.raises(InputError) as refused:
        tune(spans.extractor, few, Objective("precision", 0.9), temperature=False)
    assert str(refused.value) == (
        "entities: fewer than 10 in the gold data; the threshold stays. "
        "Nothing was tuned; require less, or give more labeled data."
    )


def test_a_label_without_enough_gold_keeps_the_common_threshold(spans: Drawn) -> None:
    few = [replace(row, entities=tuple(e for e in row.entities if e.label != "Place")) for row in spans.gold[1:]]
    few.append(replace(spans.gold[0], entities=(Entity(0, 4, "Place"),)))
    result = tune(spans.extractor, few, temperature=False)
    assert "Place" not in result.tuning.thresholds
    assert result.after.thresholds["Place"] == result.tuning.threshold
    assert result.notes == ("entities: fewer than 10 in the gold data, so with the common threshold: Place (1).",)


def test_relations_are_tuned_between_the_entities_of_the_new_settings(linked: Drawn) -> None:
    result = tune(linked.extractor, linked.gold)
    tuning, before, after = result.tuning, result.before, result.after
    assert tuning.relation_temperature != 1.0
    assert before.scores.relations
    assert after.scores.relations
    assert after.scores.relations.strict.micro.f1 > before.scores.relations.strict.micro.f1
    assert after.scores == evaluate(linked.extractor.with_tuning(tuning), linked.gold)
    assert set(after.relation_thresholds) == set(linked.extractor.schema.relation_names)
    assert after.relation_calibration_error is not None


def test_a_tuned_model_is_tuned_anew_from_what_was_trained(spans: Drawn) -> None:
    first = tune(spans.extractor, spans.gold)
    again = tune(spans.extractor.with_tuning(first.tuning), spans.gold)
    assert again.tuning == first.tuning
    assert again.before == first.after


def test_effects_are_measured_on_other_documents_without_tuning(flat: Drawn) -> None:
    other = flat.gold[:20]
    effects = tuning_effects(flat.extractor, other, [Tuning(), Tuning(threshold=0.9)])
    assert [effect.scores for effect in effects] == [
        evaluate(flat.extractor, other),
        evaluate(flat.extractor, other, threshold=0.9),
    ]
    assert effects[0].to_dict()["entities"]["micro"]["gold"] == sum(len(document.entities) for document in other)


def test_progress_names_its_stages_and_ends_with_all_documents(flat: Drawn) -> None:
    heard: list[tuple[str, int, int]] = []
    tune(flat.extractor, flat.gold, progress=lambda *step: heard.append(step))
    assert heard[0] == ("entities: temperature", 0, 60)
    assert heard[-1] == ("measuring the effect", 60, 60)


def test_taggers_have_no_candidates_below_their_own_decision(make_pipeline: Make, flat_corpus: Corpus) -> None:
    extractor = Extractor(make_pipeline("seq-ner"))
    documents = flat_corpus.splits["train"]
    assert extractor(list(documents), threshold=0.0) == extractor(list(documents))


def test_wrong_data_is_refused(flat: Drawn) -> None:
    with pytest.raises(InputError, match="no labeled documents to tune on"):
        tune(flat.extractor, [])
    with pytest.raises(SchemaError, match="the labeled data"):
        tune(flat.extractor, [Document("Mars", entities=(Entity(0, 4, "Planet"),))])
