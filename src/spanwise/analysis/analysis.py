"""`analyze`: compare the predictions of one or more systems with gold, and count when and why they err."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from spanwise.analysis.arrays import Entities, Floats, Texts, misaligned, read_entities, read_texts
from spanwise.analysis.bootstrap import estimate
from spanwise.analysis.breakdowns import (
    EntityAttributes,
    entity_attributes,
    entity_groups,
    entity_scores,
    relation_groups,
    relation_scores,
)
from spanwise.analysis.calibration import calibrate, has_scores
from spanwise.analysis.comparison import Comparison, disagreements, paired_tests, per_document
from spanwise.analysis.errors import Judgement, analyze_errors, judge
from spanwise.analysis.matching import match_documents
from spanwise.analysis.relations import Arguments, JudgedRelations, judge_relations, read_arguments
from spanwise.analysis.results import Analysis, SystemAnalysis
from spanwise.analysis.suspicious import find_suspicious
from spanwise.document import Document
from spanwise.errors import InputError
from spanwise.plural import counted
from spanwise.render.relations import symmetric_labels
from spanwise.schema import Schema

RELATION_TASKS = {"RE": False, "RE+": True}  # whether the labels of the arguments must be right
Progress = Callable[[str, int, int], None]  # the current step, how many are done, how many there are


def silent(step: str, done: int, total: int) -> None:
    """Report no progress."""


@dataclass(frozen=True, slots=True)
class Gold:
    """What all systems are compared with."""

    texts: Texts
    entities: Entities
    arguments: Arguments
    labels: Mapping[str, int]
    relation_labels: Mapping[str, int]
    symmetric: frozenset[int]  # ids of symmetric relation labels

    @property
    def documents(self) -> int:
        return len(self.texts.documents)


@dataclass(frozen=True, slots=True)
class System:
    """The predictions of one system, judged. `relations` is empty if there are no relations."""

    name: str
    predictions: Sequence[Document]
    entities: Judgement
    relations: Mapping[str, JudgedRelations]


def analyze(
    gold: Sequence[Document],
    systems: Mapping[str, Sequence[Document]],
    *,
    train: Sequence[Document] | None = None,
    schema: Schema | None = None,
    buckets: Literal["paper", "quantiles"] = "paper",
    samples: int = 1000,
    seed: int = 1,
    progress: Progress = silent,
) -> Analysis:
    """Compare the predictions of systems, by name, with gold.

    Predictions are matched with gold by id or text (`match_documents`). `train` is the training data, for label
    consistency and out-of-vocabulary density. The schema says which relations are symmetric. Intervals are percentiles
    of `samples` bootstrap samples of the documents.
    """
    steps = _Steps(progress, 4 + 2 * len(systems))
    if not gold or not systems:
        raise InputError("there is nothing to analyze; give gold documents and the predictions of at least one system.")
    steps.next("matching documents")
    matched = {name: match_documents(gold, documents, name) for name, documents in systems.items()}
    steps.next("reading gold")
    reference = _read_gold(gold, list(matched.values()), schema)
    judged = []
    for name, documents in matched.items():
        steps.next(f"matching entities of {name}")
        judged.append(_judge(name, documents, reference))
    steps.next("attributes")
    attributes = entity_attributes(
        reference.texts,
        reference.entities,
        [system.entities.predicted for system in judged],
        list(reference.labels),
        train,
        quantiles=buckets == "quantiles",
    )
    analyses = {}
    for index, system in enumerate(judged):
        steps.next(f"scores of {system.name}")
        analyses[system.name] = _analyze_system(system, reference, attributes[index], samples, seed)
    steps.next("comparison")
    judgements = {system.name: system.entities for system in judged}
    return Analysis(
        documents=len(gold),
        sentences=len(reference.texts.sentence_lengths),
        words=len(reference.texts.word_starts),
        gold_entities=len(reference.entities),
        gold_relations=_gold_relations(judged),
        labels=tuple(reference.labels),
        relation_labels=tuple(reference.relation_labels),
        systems=analyses,
        suspicious=find_suspicious(judgements, reference.texts, list(reference.labels)),
        comparison=_compare(judged, reference, seed) if len(judged) > 1 else None,
        notes=tuple(_notes(judged, reference, train is not None)),
        samples=samples,
        seed=seed,
    )


class _Steps:
    """Counts the steps for the progress report."""

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def next(self, step: str) -> None:
        self.progress(step, self.done, self.total)
        self.done += 1


def _read_gold(gold: Sequence[Document], predicted: Sequence[Sequence[Document]], schema: Schema | None) -> Gold:
    documents = [gold, *predicted]
    labels = _indexed(entity.label for rows in documents for row in rows for entity in row.entities)
    relation_labels = _indexed(relation.label for rows in documents for row in rows for relation in row.relations)
    texts = read_texts(gold)
    symmetric = frozenset(relation_labels[name] for name in symmetric_labels(schema) if name in relation_labels)
    arguments = read_arguments(texts, gold, labels, relation_labels)
    return Gold(texts, read_entities(texts, gold, labels), arguments, labels, relation_labels, symmetric)


def _indexed(names: Iterable[str]) -> dict[str, int]:
    return {name: index for index, name in enumerate(sorted(set(names)))}


def _judge(name: str, documents: Sequence[Document], gold: Gold) -> System:
    entities = judge(gold.entities, read_entities(gold.texts, documents, gold.labels))
    if not gold.relation_labels:
        return System(name, documents, entities, {})
    found = read_arguments(gold.texts, documents, gold.labels, gold.relation_labels)
    tables = entities.gold, entities.predicted
    relations = {
        task: judge_relations(gold.arguments, found, tables, gold.symmetric, strict=strict)
        for task, strict in RELATION_TASKS.items()
    }
    return System(name, documents, entities, relations)


def _analyze_system(
    system: System, gold: Gold, attributes: EntityAttributes, samples: int, seed: int
) -> SystemAnalysis:
    labels, relation_labels = list(gold.labels), list(gold.relation_labels)
    groups = entity_groups(system.entities, attributes, labels)
    for task, relations in system.relations.items():
        groups |= relation_groups(task, relations, gold.texts, relation_labels)
    estimates = estimate(groups, gold.documents, samples=samples, seed=seed)
    entities, breakdowns = entity_scores(estimates, attributes)
    predicted, strict = system.entities.predicted, system.relations.get("RE+")
    return SystemAnalysis(
        name=system.name,
        entities=entities,
        errors=analyze_errors(system.entities, gold.texts, system.predictions, labels),
        breakdowns=breakdowns,
        relations={
            task: relation_scores(task, estimates, relations, gold.symmetric)
            for task, relations in system.relations.items()
        },
        calibration=calibrate(predicted.score, system.entities.correct, predicted.label, labels),
        relation_calibration=None
        if strict is None
        else calibrate(strict.predicted.score, strict.correct, strict.predicted.label, relation_labels),
    )


def _compare(systems: Sequence[System], gold: Gold, seed: int) -> Comparison:
    judgements = {system.name: system.entities for system in systems}
    counts = {"entities": {name: per_document(one, gold.documents) for name, one in judgements.items()}}
    for task in RELATION_TASKS if gold.relation_labels else ():
        counts[task] = {one.name: per_document(one.relations[task], gold.documents) for one in systems}
    tests = [test for task, rows in counts.items() for test in paired_tests(task, rows, seed)]
    shown, number = disagreements(judgements, {one.name: one.predictions for one in systems}, gold.texts)
    return Comparison(tuple(tests), shown, number)


def _gold_relations(systems: Sequence[System]) -> int:
    return len(systems[0].relations["RE+"].gold) if systems[0].relations else 0


def _notes(systems: Sequence[System], gold: Gold, has_train: bool) -> Iterable[str]:
    """What a reader must know: what was left out, and why."""
    if not has_train:
        yield "Without training data, label consistency and out-of-vocabulary density are left out."
    if gold.documents == 1:
        yield "With a single document, intervals cannot be estimated; each interval is the value itself."
    tables = {"gold": gold.entities, **{one.name: one.entities.predicted for one in systems}}
    for name, table in tables.items():
        if number := misaligned(gold.texts, table):
            entities = counted(number, "entity of {name} is", "entities of {name} are").replace("{name}", name)
            yield f"{entities} not on word boundaries; the length is the number of words touched."
    for one in systems:
        if gold.relation_labels and not any(document.relations for document in one.predictions):
            yield f"{one.name} predicts no relations; its scores of relations are 0."
        yield from _score_notes(f"predictions of {one.name}", one.entities.predicted.score)
        if one.relations and has_scores(one.entities.predicted.score):
            yield from _score_notes(f"relations of {one.name}", one.relations["RE+"].predicted.score)


def _score_notes(what: str, score: Floats) -> Iterable[str]:
    if not len(score):
        return
    if not has_scores(score):
        yield f"The {what} have no scores; calibration is left out."
    elif np.min(score) < 0 or np.max(score) > 1:
        yield f"The {what} have scores that are not between 0 and 1; calibration is left out."
