"""From judged entities and relations to groups, and from the groups' estimates to scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spanwise.analysis import buckets as attribute
from spanwise.analysis.arrays import Entities, Integers, Texts, joint_ids
from spanwise.analysis.bootstrap import Estimates, Groups
from spanwise.analysis.buckets import Attribute, Values, entity_density, make_buckets, nesting
from spanwise.analysis.errors import Judgement, pair_overlapping
from spanwise.analysis.relations import JudgedRelations, Relations, relation_errors
from spanwise.analysis.results import Breakdown, EntityScores, LabelScores, RelationScores
from spanwise.analysis.train import label_consistency, oov_density
from spanwise.document import Document
from spanwise.metrics.structure import NESTING

ALL = ("all",)
STRICT, OVERLAP, BOUNDARIES = "strict", "overlap", "boundaries"


@dataclass(frozen=True, slots=True)
class Grouping:
    """An attribute's groups, and the group of each gold and each predicted entity."""

    key: str
    title: str
    names: tuple[str, ...]
    gold: Integers
    predicted: Integers


EntityAttributes = tuple[Grouping, ...]


def entity_attributes(
    texts: Texts,
    gold: Entities,
    predicted: Sequence[Entities],
    labels: Sequence[str],
    train: Sequence[Document] | None,
    *,
    quantiles: bool,
) -> list[EntityAttributes]:
    """The groupings of each system's entities, with the same groups for all systems."""
    tables = [gold, *predicted]
    lengths = [table.words for table in tables]
    sentences = [texts.sentence_lengths[table.sentence] for table in tables]
    density = entity_density(texts, gold)
    columns = [
        _placed(attribute.ENTITY_LENGTH, lengths, quantiles),
        _placed(attribute.SENTENCE_LENGTH, sentences, quantiles),
        _placed(attribute.ENTITY_DENSITY, [density[table.sentence] for table in tables], quantiles),
    ]
    if train is not None:
        unseen = oov_density(train, texts)
        consistency = label_consistency(train, texts, tables, labels)
        columns.insert(2, _placed(attribute.LABEL_CONSISTENCY, consistency, quantiles))
        columns.append(_placed(attribute.OOV_DENSITY, [unseen[table.sentence] for table in tables], quantiles))
    columns += [
        _placed(attribute.SPAN_LENGTH, lengths),
        ("nesting", "nesting relative to gold", NESTING, [nesting(gold, table) for table in tables]),
        _placed(attribute.GROUPED_ENTITY_LENGTH, lengths),
        _placed(attribute.GROUPED_SENTENCE_LENGTH, sentences),
    ]
    return [
        tuple(Grouping(key, title, names, groups[0], groups[index]) for key, title, names, groups in columns)
        for index in range(1, len(tables))
    ]


def _placed(
    kind: Attribute, values: Sequence[Values], quantiles: bool = False
) -> tuple[str, str, tuple[str, ...], list[Integers]]:
    found = make_buckets(kind, values[0], quantiles=quantiles)
    return kind.key, kind.title, found.names, [found.place(column) for column in values]


def entity_groups(judged: Judgement, attributes: EntityAttributes, labels: Sequence[str]) -> dict[str, Groups]:
    """The groups of all entity scores, by key."""
    names, matched = tuple(labels), _overlap_matches(judged)
    gold, predicted = judged.gold, judged.predicted
    zero_gold, zero_predicted = np.zeros_like(gold.label), np.zeros_like(predicted.label)
    found = {
        STRICT: _groups(judged, ALL, zero_gold, zero_predicted),
        f"{STRICT} labels": _groups(judged, names, gold.label, predicted.label),
        OVERLAP: _groups(judged, ALL, zero_gold, zero_predicted, matched),
        f"{OVERLAP} labels": _groups(judged, names, gold.label, predicted.label, matched),
        BOUNDARIES: _boundary_groups(judged),
    }
    return found | {one.key: _groups(judged, one.names, one.gold, one.predicted) for one in attributes}


def _groups(
    judged: Judgement | JudgedRelations,
    names: tuple[str, ...],
    gold: Integers,
    predicted: Integers,
    correct: Integers | None = None,
) -> Groups:
    """Groups of items; correct are the predictions at these indices, or those that are strictly correct."""
    right = np.flatnonzero(judged.correct) if correct is None else correct
    documents = judged.predicted.document
    return Groups(names, (judged.gold.document, gold.astype(np.int32)), (documents, predicted.astype(np.int32)), right)


def _overlap_matches(judged: Judgement) -> Integers:
    """The predictions that are correct, or are paired with a gold entity of the same label that they overlap."""
    wrong, unmatched = np.flatnonzero(~judged.correct), np.flatnonzero(~judged.found)
    gold, predicted = judged.gold.take(unmatched), judged.predicted.take(wrong)
    _, paired = pair_overlapping(gold, predicted, same_label=True)
    return np.concatenate([np.flatnonzero(judged.correct), wrong[paired]])


def _boundary_groups(judged: Judgement) -> Groups:
    """Spans without their labels; a span with several labels counts once."""
    gold, predicted = judged.gold, judged.predicted
    ids = joint_ids((gold.start, predicted.start), (gold.end, predicted.end))
    _, first_gold = np.unique(ids[0], return_index=True)
    spans, first = np.unique(ids[1], return_index=True)
    one, two = gold.document[first_gold], predicted.document[first]
    return Groups(ALL, (one, np.zeros_like(one)), (two, np.zeros_like(two)), np.flatnonzero(np.isin(spans, ids[0])))


def entity_scores(
    estimates: Mapping[str, Estimates], attributes: EntityAttributes
) -> tuple[EntityScores, dict[str, Breakdown]]:
    """The scores and the breakdowns of entities."""
    scores = EntityScores(
        _label_scores(estimates, STRICT), _label_scores(estimates, OVERLAP), estimates[BOUNDARIES].groups["all"]
    )
    return scores, {one.key: Breakdown(one.key, one.title, estimates[one.key].groups) for one in attributes}


def _label_scores(estimates: Mapping[str, Estimates], key: str) -> LabelScores:
    labels = estimates[f"{key} labels"]
    present = {name: score for name, score in labels.groups.items() if score.gold or score.predicted}
    return LabelScores(estimates[key].groups["all"], labels.macro, present)


RELATION_ATTRIBUTES = (attribute.DISTANCE, attribute.GROUPED_ENTITY_LENGTH, attribute.GROUPED_SENTENCE_LENGTH)


def relation_groups(task: str, judged: JudgedRelations, texts: Texts, labels: Sequence[str]) -> dict[str, Groups]:
    """The groups of all relation scores. The entity length is that of the longer argument."""
    gold, predicted = judged.gold, judged.predicted
    found = {
        task: _groups(judged, ALL, np.zeros_like(gold.label), np.zeros_like(predicted.label)),
        f"{task} labels": _groups(judged, tuple(labels), gold.label, predicted.label),
    }
    for kind in RELATION_ATTRIBUTES:
        values = [_relation_values(kind, relations, texts) for relations in (gold, predicted)]
        _, _, names, (one, two) = _placed(kind, values)
        found[f"{task} {kind.key}"] = _groups(judged, names, one, two)
    return found


def _relation_values(kind: Attribute, relations: Relations, texts: Texts) -> Integers:
    if kind is attribute.DISTANCE:
        return relations.distance
    return relations.words if kind is attribute.GROUPED_ENTITY_LENGTH else texts.sentence_lengths[relations.sentence]


def relation_scores(
    task: str, estimates: Mapping[str, Estimates], judged: JudgedRelations, symmetric: Collection[int]
) -> RelationScores:
    """The scores, errors and breakdowns of relations."""
    return RelationScores(
        scores=_label_scores(estimates, task),
        errors=relation_errors(judged, symmetric),
        breakdowns={
            kind.key: Breakdown(kind.key, kind.title, estimates[f"{task} {kind.key}"].groups)
            for kind in RELATION_ATTRIBUTES
        },
    )
