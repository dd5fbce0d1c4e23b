"""Which predictions are wrong, and how: kinds of errors (BL-NER, section 4.3.2, eq. 24) and label confusion.

Every (start, end, label) is one entity: a span with two labels is two entities. A prediction is correct if gold has the
same entity; the others are false positives, and gold entities that were not predicted are false negatives. False
positives are paired one to one with false negatives that share a character, the pair with the best overlap (shared
characters / all characters) first, then the pair with the same label, then the first in the text. The kinds:

- boundary: a pair with the same label, and other boundaries
- type: a pair with the same boundaries, and another label
- both: a pair with other boundaries and another label
- missed: a false negative without a pair
- spurious: a false positive without a pair; it may overlap gold entities that another prediction matches
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spanwise.analysis.arrays import Booleans, Entities, Integers, Texts, joint_ids, overlapping
from spanwise.analysis.examples import Excerpt, entity_text, excerpt
from spanwise.document import Document

KINDS = ("boundary", "type", "both", "missed", "spurious")
MISSED, SPURIOUS = "missed", "spurious"
MAX_MISTAKES = 50
MAX_EXAMPLES = 3  # of one mistake


@dataclass(frozen=True, slots=True)
class Judgement:
    """The predictions of a system against gold. A pair joins a wrong prediction and an unmatched gold entity."""

    gold: Entities
    predicted: Entities
    correct: Booleans  # of each prediction
    found: Booleans  # of each gold entity
    paired_predicted: Integers  # indices of the pairs
    paired_gold: Integers
    kinds: Integers  # the kind of each pair, as an index into KINDS

    @property
    def missed(self) -> Integers:
        """The false negatives without a pair."""
        return np.setdiff1d(np.flatnonzero(~self.found), self.paired_gold)

    @property
    def spurious(self) -> Integers:
        """The false positives without a pair."""
        return np.setdiff1d(np.flatnonzero(~self.correct), self.paired_predicted)


def judge(gold: Entities, predicted: Entities) -> Judgement:
    """Match predictions with equal gold entities, and pair the rest."""
    gold_ids, ids = joint_ids(*((getattr(gold, name), getattr(predicted, name)) for name in ("start", "end", "label")))
    correct, found = np.isin(ids, gold_ids), np.isin(gold_ids, ids)
    wrong, unmatched = np.flatnonzero(~correct), np.flatnonzero(~found)
    first, second = pair_overlapping(gold.take(unmatched), predicted.take(wrong))
    one, two = unmatched[first], wrong[second]
    return Judgement(gold, predicted, correct, found, two, one, _kind(gold.take(one), predicted.take(two)))


def pair_overlapping(gold: Entities, predicted: Entities, *, same_label: bool = False) -> tuple[Integers, Integers]:
    """Pair entities one to one, the best overlap first. Returns the indices into both tables."""
    second, first = overlapping(predicted.start, predicted.end, gold.start, gold.end)
    other = gold.label[first] != predicted.label[second]
    if same_label:
        first, second, other = first[~other], second[~other], other[~other]
    one, two = gold.take(first), predicted.take(second)
    shared = np.minimum(one.end, two.end) - np.maximum(one.start, two.start)
    overlap = shared / (np.maximum(one.end, two.end) - np.minimum(one.start, two.start))
    order = np.lexsort((second, first, other, -overlap))  # both tables are ordered by start, end and label
    return _one_to_one(first[order], second[order], len(gold), len(predicted))


def _one_to_one(first: Integers, second: Integers, firsts: int, seconds: int) -> tuple[Integers, Integers]:
    free_first, free_second = bytearray(b"\1") * firsts, bytearray(b"\1") * seconds
    kept = []
    for one, two in zip(first.tolist(), second.tolist(), strict=True):
        if free_first[one] and free_second[two]:
            free_first[one] = free_second[two] = 0
            kept.append((one, two))
    pairs = np.array(sorted(kept), np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _kind(gold: Entities, predicted: Entities) -> Integers:
    same_bounds = (gold.start == predicted.start) & (gold.end == predicted.end)
    return np.where(gold.label == predicted.label, 0, np.where(same_bounds, 1, 2))


@dataclass(frozen=True, slots=True)
class KindCount:
    """How often a kind of error occurs. A pair counts once, although it is a false positive and a false negative.

    `rate` is count / (FP + FN), as in eq. 24; `share` is the share of the false positives and false negatives that
    have this kind, so that the shares of all kinds add up to 1.
    """

    count: int
    rate: float
    share: float


@dataclass(frozen=True, slots=True)
class Confusion:
    """Gold labels in rows, predicted labels in columns, with a last column "missed" and a last row "spurious".

    Correct entities and boundary errors count on the diagonal, type errors and errors of both beside it: a row adds up
    to the gold entities of its label, a column to the predictions of its label.
    """

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake that may occur often: the gold text with its label became the predicted text with its label.

    A missed entity has no predicted text, a spurious one no gold text.
    """

    kind: str
    gold_text: str | None
    gold_label: str | None
    predicted_text: str | None
    predicted_label: str | None
    count: int
    examples: tuple[Excerpt, ...]


@dataclass(frozen=True, slots=True)
class Errors:
    """The errors of one system. `different_mistakes` counts also those that `mistakes` leaves out."""

    false_positives: int
    false_negatives: int
    kinds: Mapping[str, KindCount]
    confusion: Confusion
    mistakes: tuple[Mistake, ...]
    different_mistakes: int


def analyze_errors(judged: Judgement, texts: Texts, predictions: Sequence[Document], labels: Sequence[str]) -> Errors:
    """The kinds of all errors, the label confusion and the most frequent mistakes."""
    positives, negatives = int((~judged.correct).sum()), int((~judged.found).sum())
    mistakes, different = _mistakes(judged, texts, predictions, labels)
    return Errors(
        positives,
        negatives,
        _kind_counts(judged, positives + negatives),
        _confusion(judged, labels),
        mistakes,
        different,
    )


def _kind_counts(judged: Judgement, errors: int) -> dict[str, KindCount]:
    pairs = np.bincount(judged.kinds, minlength=3)
    counts = [*(int(count) for count in pairs), len(judged.missed), len(judged.spurious)]
    members = [2 * count for count in counts[:3]] + counts[3:]
    whole = max(1, errors)
    return {
        kind: KindCount(count, count / whole, number / whole)
        for kind, count, number in zip(KINDS, counts, members, strict=True)
    }


def _confusion(judged: Judgement, labels: Sequence[str]) -> Confusion:
    none = len(labels)  # the place of "spurious" among the rows and of "missed" among the columns
    gold, predicted = judged.gold.label, judged.predicted.label
    right, missed, spurious = gold[judged.found], gold[judged.missed], predicted[judged.spurious]
    rows = np.concatenate([right, gold[judged.paired_gold], missed, np.full_like(spurious, none)])
    columns = np.concatenate([right, predicted[judged.paired_predicted], np.full_like(missed, none), spurious])
    counts = np.bincount(rows * (none + 1) + columns, minlength=(none + 1) ** 2).reshape(none + 1, none + 1)
    return Confusion(tuple(labels), tuple(tuple(row) for row in counts.tolist()))


def _mistakes(
    judged: Judgement, texts: Texts, predictions: Sequence[Document], labels: Sequence[str]
) -> tuple[tuple[Mistake, ...], int]:
    """The most frequent mistakes, and how many different ones there are; of equally frequent ones, the first."""
    gold, predicted = _surfaces(judged.gold, texts, labels), _surfaces(judged.predicted, texts, labels)
    places: defaultdict[tuple[str, str | None, str | None, str | None, str | None], list[tuple[int, int]]]
    places = defaultdict(list)
    for kind, one, two in _all_errors(judged):
        entity, at = (judged.gold, one) if one >= 0 else (judged.predicted, two)
        key = (kind, *(gold(one) if one >= 0 else (None, None)), *(predicted(two) if two >= 0 else (None, None)))
        places[key].append((int(entity.document[at]), int(entity.first_word[at])))
    ranked = sorted(places.items(), key=lambda item: -len(item[1]))[:MAX_MISTAKES]
    mistakes = (
        Mistake(*key, len(found), tuple(excerpt(texts, predictions, *place) for place in found[:MAX_EXAMPLES]))
        for key, found in ranked
    )
    return tuple(mistakes), len(places)


def _all_errors(judged: Judgement) -> Iterator[tuple[str, int, int]]:
    """Kind, gold entity and prediction of every error, in text order within a kind; -1 where there is none."""
    pairs = zip(judged.kinds.tolist(), judged.paired_gold.tolist(), judged.paired_predicted.tolist(), strict=True)
    yield from ((KINDS[kind], one, two) for kind, one, two in pairs)
    yield from ((MISSED, one, -1) for one in judged.missed.tolist())
    yield from ((SPURIOUS, -1, two) for two in judged.spurious.tolist())


def _surfaces(entities: Entities, texts: Texts, labels: Sequence[str]) -> Callable[[int], tuple[str, str]]:
    """A function from an entity's index to its text and label."""

    def surface(index: int) -> tuple[str, str]:
        return entity_text(texts, entities, index), labels[entities.label[index]]

    return surface
