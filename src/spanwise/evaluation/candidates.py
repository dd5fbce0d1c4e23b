"""Scored predictions that were compared with gold, as arrays: what thresholds and temperatures are chosen from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spanwise.document import Document
from spanwise.metrics.pairing import pair_documents
from spanwise.metrics.relations import relation_items

Item = tuple[str, Hashable]  # label, and what must be equal in gold
Items = Callable[[Document], Iterable[tuple[Item, float]]]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Candidates:
    """K predictions of one kind, and the number of gold items per label."""

    labels: NDArray[np.int64]  # [K]
    scores: Doubles  # [K]
    correct: NDArray[np.bool_]  # [K]
    gold: NDArray[np.int64]  # [L]

    def of_label(self, label: int) -> Candidates:
        rows = self.labels == label
        return Candidates(self.labels[rows], self.scores[rows], self.correct[rows], self.gold[label : label + 1])

    @classmethod
    def joined(cls, parts: Sequence[Candidates]) -> Candidates:
        """The candidates of several groups of documents."""
        return cls(
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.correct for part in parts]),
            np.sum([part.gold for part in parts], axis=0),
        )


def entity_items(document: Document) -> Iterator[tuple[Item, float]]:
    """Entities by label and bounds, with their probabilities."""
    return (((e.label, (e.start, e.end)), 1.0 if e.score is None else e.score) for e in document.entities)


def strict_relation_items(symmetric: frozenset[str]) -> Items:
    """Relations as RE+ compares them, with their probabilities."""

    def items(document: Document) -> Iterator[tuple[Item, float]]:
        scores = (1.0 if relation.score is None else relation.score for relation in document.relations)
        return zip(relation_items(document, symmetric, strict=True), scores, strict=True)

    return items


def judged(gold: Sequence[Document], predicted: Sequence[Document], names: Sequence[str], items: Items) -> Candidates:
    """The predictions of documents paired by position; duplicates count once, with the highest of their scores."""
    place = {name: index for index, name in enumerate(names)}
    rows: list[tuple[int, float, bool]] = []
    counts = np.zeros(len(names), np.int64)
    for one, other in pair_documents(gold, predicted):
        wanted = {item for item, _ in items(one)}
        np.add.at(counts, [place[label] for label, _ in wanted], 1)
        rows += [(place[item[0]], score, item in wanted) for item, score in _highest(items(other)).items()]
    labels, scores, correct = zip(*rows, strict=True) if rows else ((), (), ())
    return Candidates(np.array(labels, np.int64), np.array(scores, np.float64), np.array(correct, np.bool_), counts)


def scores_by_setting(
    gold: Sequence[Document], own: Sequence[Document], settings: Sequence[Sequence[Document]], items: Items
) -> tuple[Doubles, NDArray[np.bool_]]:
    """Scores in each setting of the model's own predictions, and whether these are correct. -> [S, K], [K]

    Predictions that a setting does not make are left out: in a flat model, overlapping spans can change their order.
    """
    scores: list[list[float]] = []
    correct: list[bool] = []
    paired = [pair_documents(gold, predicted) for predicted in (own, *settings)]
    for pairs in zip(*paired, strict=True):
        made, *found = (_highest(items(other)) for _, other in pairs)
        shared = [item for item in made if all(item in each for each in found)]
        wanted = {item for item, _ in items(pairs[0][0])}
        scores += [[each[item] for each in found] for item in shared]
        correct += [item in wanted for item in shared]
    return np.array(scores, np.float64).reshape(-1, len(settings)).T, np.array(correct, np.bool_)


def _highest(items: Iterable[tuple[Item, float]]) -> dict[Item, float]:
    found: dict[Item, float] = {}
    for item, score in items:
        found[item] = max(score, found.get(item, 0.0))
    return found
