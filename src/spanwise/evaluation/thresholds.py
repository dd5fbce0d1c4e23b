"""The search for thresholds: for all labels together, then for each label, on predictions compared with gold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spanwise.errors import InputError
from spanwise.evaluation.candidates import Candidates, Doubles

Measure = Literal["f1", "precision", "recall"]
MIN_GOLD = 10  # gold items that a label needs for a threshold of its own
UNREACHED = -1.0  # worth of thresholds that miss the requirement
ROUNDING = 1e-9


@dataclass(frozen=True)
class Objective:
    """The highest F1; or the highest recall with a required precision; or the highest precision with a recall."""

    measure: Measure = "f1"
    required: float | None = None

    def __post_init__(self) -> None:
        if (self.required is None) != (self.measure == "f1"):
            raise InputError("a required value belongs to precision or recall; f1 is maximized and takes none.")
        if self.required is not None and not 0 < self.required <= 1:
            raise InputError(f"a required {self.measure} is a number above 0 and at most 1, not {self.required}.")

    def worth(self, gold: int, predicted: NDArray[np.int64], correct: NDArray[np.int64]) -> Doubles:
        """What is maximized, per row of counts; UNREACHED where the required value is missed."""
        if self.measure == "f1":
            return _ratio(2 * correct, gold + predicted)
        met, worth = self.required_value(gold, predicted, correct), self._other(gold, predicted, correct)
        return np.where(met >= (self.required or 0) - ROUNDING, worth, UNREACHED)

    def required_value(self, gold: int, predicted: NDArray[np.int64], correct: NDArray[np.int64]) -> Doubles:
        return _ratio(correct, predicted) if self.measure == "precision" else _ratio(correct, gold + 0 * correct)

    def _other(self, gold: int, predicted: NDArray[np.int64], correct: NDArray[np.int64]) -> Doubles:
        return _ratio(correct, gold + 0 * correct) if self.measure == "precision" else _ratio(correct, predicted)


@dataclass(frozen=True)
class Levels:
    """The counts at every threshold that makes a difference, highest threshold first."""

    scores: Doubles  # [V]   lowest score that is kept
    predicted: NDArray[np.int64]  # [V]
    correct: NDArray[np.int64]  # [V]
    gold: int

    @classmethod
    def of(cls, candidates: Candidates) -> Levels:
        order = np.argsort(-candidates.scores, kind="stable")
        scores, hits = candidates.scores[order], np.cumsum(candidates.correct[order])
        last = np.flatnonzero(np.append(scores[1:] != scores[:-1], True)) if len(scores) else np.zeros(0, np.int64)
        return cls(scores[last], last + 1, hits[last].astype(np.int64), int(candidates.gold.sum()))

    def counts_at(self, threshold: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Predicted and correct with scores of at least the threshold, as arrays of one number."""
        kept = int(np.count_nonzero(self.scores >= np.float32(threshold)))
        if not kept:
            return np.zeros(1, np.int64), np.zeros(1, np.int64)
        return self.predicted[kept - 1 : kept], self.correct[kept - 1 : kept]


@dataclass(frozen=True)
class ThresholdChoice:
    """The threshold for all labels, those of labels for which their own gives a better score, and notes."""

    common: float
    own: dict[str, float]
    notes: tuple[str, ...] = ()


def choose_thresholds(
    candidates: Candidates, names: Sequence[str], objective: Objective, default: float, floor: float
) -> ThresholdChoice:
    """Thresholds that are best for the objective on these candidates, all of which have scores above `floor`.

    A label gets its own threshold only if it has enough gold and scores better with it than with the common one.
    """
    common = best_threshold(candidates, objective, default, floor)
    own, notes = {}, []
    for label, name in enumerate(names):
        part = candidates.of_label(label)
        if part.gold[0] < MIN_GOLD:
            continue
        found = best_threshold(part, objective, common, floor)
        if found != common:
            own[name] = found
        notes += _unreached(part, name, objective)
    return ThresholdChoice(common, own, (*_few_gold(candidates, names), *notes))


def best_threshold(candidates: Candidates, objective: Objective, default: float, floor: float) -> float:
    """The best single threshold; the default unless another is strictly better."""
    levels = Levels.of(candidates)
    if not len(levels.scores):
        return default
    worth = objective.worth(levels.gold, levels.predicted, levels.correct)
    best = int(worth.argmax())
    if worth[best] <= objective.worth(levels.gold, *levels.counts_at(default))[0] + ROUNDING:
        return default
    following = levels.scores[best + 1] if best + 1 < len(levels.scores) else floor
    return between(float(following), float(levels.scores[best]))


def between(low: float, high: float) -> float:
    """A number with few digits above `low` and at most `high`, near their middle, in the precision of decoders."""
    middle = (low + high) / 2
    for digits in range(2, 8):
        short = round(middle, digits)
        if low < float(np.float32(short)) <= high:
            return short
    return high


def highest_required_value(candidates: Candidates, objective: Objective) -> float:
    """The highest precision or recall, whichever is required, that any threshold gives."""
    levels = Levels.of(candidates)
    return float(objective.required_value(levels.gold, levels.predicted, levels.correct).max(initial=0.0))


def threshold_nearest_to_requirement(
    candidates: Candidates, objective: Objective, default: float, floor: float
) -> float:
    """The best threshold with the required value or, if none reaches it, with the highest; the default for F1."""
    highest = highest_required_value(candidates, objective) if objective.required else 0.0
    if not objective.required or not highest:
        return default
    return best_threshold(candidates, replace(objective, required=min(highest, objective.required)), default, floor)


def _unreached(part: Candidates, name: str, objective: Objective) -> list[str]:
    if objective.required is None:
        return []
    highest = highest_required_value(part, objective)
    if highest >= objective.required - ROUNDING:
        return []
    return [
        f"no threshold of {name} reaches {objective.measure} {objective.required:g} (highest: {highest:.3f}); "
        f"it keeps the common threshold."
    ]


def _few_gold(candidates: Candidates, names: Sequence[str]) -> list[str]:
    few = [f"{name} ({count})" for name, count in zip(names, candidates.gold.tolist(), strict=True) if count < MIN_GOLD]
    return [f"fewer than {MIN_GOLD} in the gold data, so with the common threshold: {', '.join(few)}."] if few else []


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> Doubles:
    """A fraction with denominator 0 is 0."""
    found: Doubles = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return found
