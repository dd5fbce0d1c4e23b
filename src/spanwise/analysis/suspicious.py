"""Gold annotations that confident predictions contradict: the first places to look for annotation errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from spanwise.analysis.arrays import Entities, Floats, Integers, Texts, joint_ids
from spanwise.analysis.calibration import has_scores
from spanwise.analysis.errors import KINDS, SPURIOUS, Judgement
from spanwise.analysis.examples import cut, document_name, entity_text, sentence_bounds, words_between
from spanwise.document import Document, Entity

CONFIDENT = 0.9
MOST_CONFIDENT = 0.1  # share of a system's wrong predictions, if none of them reaches CONFIDENT
MAX_SUSPICIOUS = 200
REVIEW = "review"  # metadata key of the cases to review in an exported document


@dataclass(frozen=True, slots=True)
class Annotation:
    """An entity of a document, by characters of the whole document."""

    start: int
    end: int
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A wrong prediction that some systems are confident of, and the gold entity in its place, if there is one.

    `confidence` is the mean score over these systems; None if none of them gives scores. Kind and gold entity are those
    of the first of the systems. `sentence` has the gold annotations around the place.
    """

    document: str
    kind: str
    gold: Annotation | None
    predicted: Annotation
    systems: tuple[str, ...]
    confidence: float | None
    sentence: Document
    predicted_sentence: Document


@dataclass(frozen=True, slots=True)
class Suspicious:
    """The most suspicious places, and how many there are in all.

    Order: the number of systems that agree, then confidence, then place. `documents` are the gold documents with one or
    more of the cases, each with its cases in its metadata, under "review".
    """

    total: int
    cases: tuple[Suspicion, ...]
    documents: tuple[Document, ...] = field(repr=False)


def find_suspicious(judgements: Mapping[str, Judgement], texts: Texts, labels: Sequence[str]) -> Suspicious:
    """All confident wrong predictions, the same prediction of several systems as one case.

    Confident is a score of at least 0.9. If no wrong prediction of a system has one, or if scores exceed 1, it is the
    tenth with the highest scores. Of a system without scores, every wrong prediction takes part.
    """
    names, judged = list(judgements), list(judgements.values())
    rows = [_confident(one) for one in judged]
    system = np.repeat(np.arange(len(rows)), [len(found) for found in rows])
    row = np.concatenate(rows)
    tables = [one.predicted.take(found) for one, found in zip(judged, rows, strict=True)]
    columns = (tuple(getattr(table, name) for table in tables) for name in ("start", "end", "label"))
    ids = np.concatenate(joint_ids(*columns))
    scores = np.concatenate([_scores(one, found) for one, found in zip(judged, rows, strict=True)])
    members = _members(ids)
    means = [_mean(scores[case]) for case in members]
    order = sorted(range(len(members)), key=lambda i: (-len(members[i]), -_or_lowest(means[i]), ids[members[i][0]]))
    cases, places = [], []
    for index in order[:MAX_SUSPICIOUS]:
        case, confidence = members[index], means[index]
        first = judged[system[case[0]]]
        agreeing = tuple(names[one] for one in system[case])
        cases.append(_case(first, int(row[case[0]]), texts, labels, agreeing, confidence))
        places.append(int(first.predicted.document[row[case[0]]]))
    return Suspicious(len(members), tuple(cases), _documents(texts, cases, places))


def _confident(judged: Judgement) -> Integers:
    """The wrong predictions that a system is confident of."""
    wrong = np.flatnonzero(~judged.correct)
    score = judged.predicted.score[wrong]
    if not has_scores(judged.predicted.score) or not len(wrong):
        return wrong
    sure = CONFIDENT <= score.max() <= 1
    limit = CONFIDENT if sure else np.sort(score)[-max(1, int(MOST_CONFIDENT * len(score)))]
    return wrong[score >= limit]


def _scores(judged: Judgement, rows: Integers) -> Floats:
    """The scores of these predictions; not a number if the system gives none."""
    score = judged.predicted.score[rows]
    return score if has_scores(judged.predicted.score) else np.full(len(rows), np.nan)


def _members(ids: Integers) -> list[Integers]:
    """The positions of equal ids, in order."""
    order = np.argsort(ids, kind="stable")
    cuts = np.flatnonzero(np.diff(ids[order])) + 1
    return np.split(order, cuts) if len(ids) else []


def _mean(scores: Floats) -> float | None:
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if len(known) else None


def _or_lowest(confidence: float | None) -> float:
    return -np.inf if confidence is None else confidence


def _case(
    judged: Judgement, row: int, texts: Texts, labels: Sequence[str], systems: tuple[str, ...], confidence: float | None
) -> Suspicion:
    pair = np.flatnonzero(judged.paired_predicted == row)
    predicted = judged.predicted
    document = int(predicted.document[row])
    source = texts.documents[document]
    found = _annotation(predicted, row, texts, labels)
    entity = Entity(found.start, found.end, found.label, 1.0 if confidence is None else confidence)
    bounds = sentence_bounds(texts, document, int(predicted.first_word[row]), source, source.with_predictions([entity]))
    words = words_between(texts, document, bounds)
    return Suspicion(
        document=document_name(texts, document),
        kind=KINDS[judged.kinds[pair[0]]] if len(pair) else SPURIOUS,
        gold=_annotation(judged.gold, int(judged.paired_gold[pair[0]]), texts, labels) if len(pair) else None,
        predicted=found,
        systems=systems,
        confidence=confidence,
        sentence=cut(source, bounds, words),
        predicted_sentence=cut(source.with_annotations([entity]), bounds, words),
    )


def _annotation(entities: Entities, row: int, texts: Texts, labels: Sequence[str]) -> Annotation:
    offset = int(texts.offsets[entities.document[row]])
    start, end = int(entities.start[row]) - offset, int(entities.end[row]) - offset
    return Annotation(start, end, labels[entities.label[row]], entity_text(texts, entities, row))


def _documents(texts: Texts, cases: Sequence[Suspicion], places: Sequence[int]) -> tuple[Document, ...]:
    """The gold documents of the cases, in the order of their first case."""
    reviews: dict[int, list[dict[str, Any]]] = {}
    for case, place in zip(cases, places, strict=True):
        reviews.setdefault(place, []).append(_review(case))
    return tuple(
        replace(texts.documents[place], metadata={**texts.documents[place].metadata, REVIEW: review})
        for place, review in reviews.items()
    )


def _review(case: Suspicion) -> dict[str, Any]:
    return {
        "kind": case.kind,
        "gold": asdict(case.gold) if case.gold else None,
        "predicted": asdict(case.predicted),
        "systems": list(case.systems),
        "confidence": case.confidence,
    }
