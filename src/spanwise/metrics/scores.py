"""Precision, recall and F1 from counts, per label and over all labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Average:
    """The mean over labels, as fractions between 0 and 1; it has no counts of its own."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Score:
    """Fractions between 0 and 1 and the counts behind them. A fraction with denominator 0 is 0."""

    precision: float
    recall: float
    f1: float
    gold: int
    predicted: int
    correct: int

    @classmethod
    def from_counts(cls, gold: int, predicted: int, correct: int) -> Score:
        return cls(
            precision=_ratio(correct, predicted),
            recall=_ratio(correct, gold),
            f1=_ratio(2 * correct, gold + predicted),
            gold=gold,
            predicted=predicted,
            correct=correct,
        )


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores over all labels (micro), their mean over the labels that occur in gold (macro), and those of each label.

    `labels` also holds labels that were only predicted: they lower micro precision but have no recall to average.
    """

    micro: Score
    macro: Average
    labels: Mapping[str, Score]

    @classmethod
    def from_counts(cls, gold: Mapping[str, int], predicted: Mapping[str, int], correct: Mapping[str, int]) -> Scores:
        """Scores from the number of gold, predicted and correct items per label."""
        labels = {
            label: Score.from_counts(gold.get(label, 0), predicted.get(label, 0), correct.get(label, 0))
            for label in sorted({*gold, *predicted})
        }
        micro = Score.from_counts(sum(gold.values()), sum(predicted.values()), sum(correct.values()))
        return cls(micro, _mean([score for score in labels.values() if score.gold]), labels)

    def to_dict(self) -> dict[str, Any]:
        return {
            "micro": asdict(self.micro),
            "macro": asdict(self.macro),
            "labels": {label: asdict(score) for label, score in self.labels.items()},
        }


def count_matches(pairs: Iterable[tuple[Iterable[tuple[str, Hashable]], Iterable[tuple[str, Hashable]]]]) -> Scores:
    """Scores of gold and predicted (label, item) pairs, matched within each document; duplicates count once."""
    gold: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    for gold_items, predicted_items in pairs:
        wanted, found = set(gold_items), set(predicted_items)
        gold.update(label for label, _ in wanted)
        predicted.update(label for label, _ in found)
        correct.update(label for label, _ in wanted & found)
    return Scores.from_counts(gold, predicted, correct)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _mean(scores: list[Score]) -> Average:
    number = len(scores) or 1
    return Average(
        precision=sum(score.precision for score in scores) / number,
        recall=sum(score.recall for score in scores) / number,
        f1=sum(score.f1 for score in scores) / number,
    )
