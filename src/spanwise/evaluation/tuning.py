"""Choose thresholds and temperatures on labeled data, and measure what they change.

Entities first, then relations between the entities that the new settings predict. The search only suggests settings:
they are chosen, and their effect is measured, by decoding the model's scores with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spanwise import metrics
from spanwise.document import Document
from spanwise.errors import InputError
from spanwise.evaluation.calibration import (
    TEMPERATURES,
    at_temperature,
    calibration_error,
    fit_temperature,
    reason_without_fit,
)
from spanwise.evaluation.candidates import (
    Candidates,
    Items,
    entity_items,
    judged,
    scores_by_setting,
    strict_relation_items,
)
from spanwise.evaluation.scoring import LabeledDocument, gold_for_model
from spanwise.evaluation.thresholds import (
    MIN_GOLD,
    UNREACHED,
    Objective,
    choose_thresholds,
    threshold_nearest_to_requirement,
)
from spanwise.inference.extractor import Extractor
from spanwise.metrics import Evaluation
from spanwise.pipeline.tuning import Tuning

CHUNK = 128  # documents whose scores are in memory together
TEMPERATURE_CHUNK = 32  # the same, decoded at all temperatures
FLOOR = 0.01  # lowest probability of a candidate, unless the model's own threshold is lower
Progress = Callable[[str, int, int], None]  # what is done, documents so far, all documents


@dataclass(frozen=True)
class Effect:
    """What a model gives on labeled documents with one tuning. Calibration errors are None without predictions."""

    scores: Evaluation
    thresholds: Mapping[str, float]
    relation_thresholds: Mapping[str, float]
    calibration_error: float | None
    relation_calibration_error: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return {**{name: value for name, value in asdict(self).items() if name != "scores"}, **self.scores.to_dict()}


@dataclass(frozen=True)
class TuningResult:
    """The chosen tuning, its effect on the documents it was chosen on, and what the user should know.

    `temperatures` is the tuning without the chosen thresholds, and `calibrated` its effect.
    """

    tuning: Tuning
    temperatures: Tuning
    before: Effect
    calibrated: Effect
    after: Effect
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Kind:
    """Entities or relations: their labels, threshold, how they are compared, and their fields of a tuning."""

    name: str
    labels: Sequence[str]
    default: float
    items: Items
    prefix: str = ""
    sigmoid: bool = False  # one sigmoid per label, so `at_temperature` is exact

    def updated(self, tuning: Tuning, temperature: float, common: float, own: Mapping[str, float] = {}) -> Tuning:
        values = {"temperature": temperature, "threshold": common, "thresholds": dict(own)}
        return tuning.model_copy(update={self.prefix + name: value for name, value in values.items()})

    def scaled(self, tuning: Tuning, temperature: float) -> Tuning:
        """With another temperature and the model's own threshold, which keeps nearly the same predictions."""
        return self.updated(tuning, temperature, at_temperature(self.default, temperature))

    def with_all_of(self, tuning: Tuning, temperature: float) -> Tuning:
        """With another temperature and a threshold that loses nothing the model predicts at temperature 1.

        For sigmoid that is its own threshold. A probability of softmax depends on all classes, so it is 0.
        """
        return self.scaled(tuning, temperature) if self.sigmoid else self.updated(tuning, temperature, 0.0)

    def temperature_of(self, tuning: Tuning) -> float:
        return float(getattr(tuning, f"{self.prefix}temperature"))


def tune(
    model: Extractor | Path | str,
    gold: Sequence[LabeledDocument],
    objective: Objective | None = None,
    *,
    temperature: bool = True,
    progress: Progress | None = None,
) -> TuningResult:
    """Choose thresholds per label and temperatures on labeled documents that the model was not trained on.

    Nothing is stored: `extractor.with_tuning(result.tuning)` uses what was chosen. The search starts from the model as
    it was trained, also if it was tuned before.
    """
    extractor = model if isinstance(model, Extractor) else Extractor.from_pretrained(model)
    decoded = _Decoded(extractor, gold, progress)
    kinds, tuning, reached = _kinds(extractor, decoded.gold), Tuning(), False
    notes: list[str] = []
    for kind in kinds:
        search = _Search(decoded, kind, objective or Objective(), temperature)
        tuning, found = search.run(tuning)
        reached, notes = reached or found, notes + search.notes
    if not reached:
        raise InputError(" ".join(notes) + " Nothing was tuned; require less, or give more labeled data.")
    temperatures = Tuning()
    for kind in kinds:
        temperatures = kind.scaled(temperatures, kind.temperature_of(tuning))
    before, calibrated, after = decoded.effects([extractor.pipeline.reader.tuning, temperatures, tuning])
    return TuningResult(tuning, temperatures, before, calibrated, after, tuple(notes))


def tuning_effects(
    extractor: Extractor,
    gold: Sequence[LabeledDocument],
    tunings: Sequence[Tuning],
    progress: Progress | None = None,
) -> list[Effect]:
    """Scores and calibration errors on labeled documents with each tuning; the model runs once."""
    return _Decoded(extractor, gold, progress).effects(tunings)


def _kinds(extractor: Extractor, gold: Sequence[Document]) -> list[Kind]:
    pipeline, schema = extractor.pipeline, extractor.schema
    independent = pipeline.reader.traits.multi_label
    kinds = [Kind("entities", schema.entity_names, pipeline.threshold, entity_items, sigmoid=independent)]
    if any(document.relations for document in gold):
        symmetric = frozenset(relation.name for relation in schema.relations if relation.symmetric)
        threshold = pipeline.reader.traits.relation_threshold
        items = strict_relation_items(symmetric)
        kinds.append(Kind("relations", schema.relation_names, threshold, items, "relation_"))
    return kinds


class _Decoded:
    """Labeled documents with a model's predictions, decoded with any tunings."""

    def __init__(self, extractor: Extractor, gold: Sequence[LabeledDocument], progress: Progress | None) -> None:
        self.extractor, self.progress = extractor, progress or (lambda *_: None)
        self.rows = gold_for_model(extractor, gold)
        self.gold = [row.document for row in self.rows]
        if not self.gold:
            raise InputError("there are no labeled documents to tune on; give a file with some.")
        extractor.schema.check(self.gold, "the labeled data")

    def chunks(
        self, stage: str, tunings: Sequence[Tuning], size: int = CHUNK
    ) -> Iterator[tuple[list[Document], list[list[Document]]]]:
        """Gold documents in groups, with the predictions of each tuning."""
        pipeline, task = self.extractor.pipeline, self.extractor.task
        settings = [pipeline.with_tuning(tuning).thresholds(None, None, task.schema) for tuning in tunings]
        for at in range(0, len(self.gold), size):
            self.progress(stage, at, len(self.gold))
            gold = self.gold[at : at + size]
            groups = [task.builder.examples(document) for document in gold]
            yield gold, pipeline.predict_each(gold, groups, task, settings, self.extractor.token_budget)
        self.progress(stage, len(self.gold), len(self.gold))

    def candidates(self, stage: str, kind: Kind, tunings: Sequence[Tuning]) -> list[Candidates]:
        """The predictions of each tuning, compared with gold."""
        parts = [
            [judged(gold, predicted, kind.labels, kind.items) for predicted in settings]
            for gold, settings in self.chunks(stage, tunings)
        ]
        return [Candidates.joined(group) for group in zip(*parts, strict=True)]

    def effects(self, tunings: Sequence[Tuning]) -> list[Effect]:
        predicted: list[list[Document]] = [[] for _ in tunings]
        for _, settings in self.chunks("measuring the effect", tunings):
            for all_documents, documents in zip(predicted, settings, strict=True):
                all_documents += documents
        return [self._effect(*pair) for pair in zip(tunings, predicted, strict=True)]

    def _effect(self, tuning: Tuning, predicted: list[Document]) -> Effect:
        schema, pipeline = self.extractor.schema, self.extractor.pipeline.with_tuning(tuning)
        errors = [
            calibration_error(found.scores, found.correct)
            for kind in _kinds(self.extractor, self.gold)
            for found in [judged(self.gold, predicted, kind.labels, kind.items)]
        ]
        scores = metrics.evaluate(self.rows, predicted, schema)
        return Effect(scores, pipeline.own_thresholds(schema), pipeline.own_relation_thresholds(schema), *errors)


@dataclass
class _Search:
    """The tuning of one kind."""

    decoded: _Decoded
    kind: Kind
    objective: Objective
    scale: bool  # fit a temperature
    notes: list[str] = field(default_factory=list)

    def run(self, tuning: Tuning) -> tuple[Tuning, bool]:
        """The tuning with what is best for this kind, and whether the objective was reached."""
        kind = self.kind
        temperature = self._temperature(tuning) if self.scale else 1.0
        start = at_temperature(kind.default, temperature)
        floor = min(FLOOR, start)
        (found,) = self.decoded.candidates(f"{kind.name}: candidates", kind, [kind.updated(tuning, temperature, floor)])
        trials = [kind.updated(tuning, temperature, *trial) for trial in self._trials(found, start, floor)]
        counts = self._counts(trials)
        best = self._best(counts)
        if best is None and len(trials) > 1:
            self.notes.append(self._unreached(float(self.objective.required_value(*counts).max())))
        return trials[best or 0], best is not None

    def _trials(self, found: Candidates, start: float, floor: float) -> list[tuple[float, dict[str, float]]]:
        """Thresholds that are worth decoding, the model's own first; only these with too little gold to choose."""
        if found.gold.sum() < MIN_GOLD:
            self.notes.append(f"{self.kind.name}: fewer than {MIN_GOLD} in the gold data; the threshold stays.")
            return [(start, {})]
        choice = choose_thresholds(found, self.kind.labels, self.objective, start, floor)
        self.notes += [f"{self.kind.name}: {note}" for note in choice.notes]
        closest = threshold_nearest_to_requirement(found, self.objective, start, floor)
        return [(start, {}), (closest, {}), (choice.common, {}), (choice.common, choice.own)]

    def _unreached(self, highest: float) -> str:
        wanted = f"{self.objective.measure} {self.objective.required:g}"
        return f"{self.kind.name}: no thresholds reach {wanted} on this data (highest: {highest:.3f}); they stay."

    def _temperature(self, tuning: Tuning) -> float:
        kind = self.kind
        trials = [kind.with_all_of(tuning, temperature) for temperature in TEMPERATURES.tolist()]
        stage, tunings = f"{kind.name}: temperature", [kind.scaled(tuning, 1.0), *trials]
        parts = [
            scores_by_setting(gold, own, settings, kind.items)
            for gold, (own, *settings) in self.decoded.chunks(stage, tunings, TEMPERATURE_CHUNK)
        ]
        scores, correct = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
        found = fit_temperature(scores, correct)
        if found is None:
            self.notes.append(f"{kind.name}: the temperature stays 1: {reason_without_fit(scores, correct)}.")
        return 1.0 if found is None else found

    def _counts(self, trials: list[Tuning]) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """Gold items, and per trial the predictions and the correct ones."""
        found = self.decoded.candidates(f"{self.kind.name}: comparing thresholds", self.kind, trials)
        predicted, correct = np.array([(len(each.correct), each.correct.sum()) for each in found], np.int64).T
        return int(found[0].gold.sum()), predicted, correct

    def _best(self, counts: tuple[int, NDArray[np.int64], NDArray[np.int64]]) -> int | None:
        """The best of the trials by their predictions; None if all miss the requirement.

        With F1, a later trial must beat the earlier ones. With a requirement, the last one that meets it is taken: it
        asks the same of every label.
        """
        worth = self.objective.worth(*counts)
        reached = np.flatnonzero(worth > UNREACHED)
        if not len(reached):
            return None
        return int(worth.argmax()) if self.objective.required is None else int(reached[-1])
