"""Relations as arrays, and their errors: inherited from the entities, or the relation's own.

RE requires the label and the bounds of both arguments, RE+ also the labels of both arguments. An error is inherited if
an argument of the missing relation was not predicted as an entity, or if an argument of the wrong relation is not an
entity of gold: with the same bounds in RE, and the same label in RE+. All other errors are the relation's own. Among
these, a missing and a wrong relation of one document are paired one to one:

- type: the same arguments, another label (for a symmetric label, in either order)
- direction: the same label and arguments, in reverse order

What has no pair is missing or spurious.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from spanwise.analysis.arrays import Booleans, Entities, Floats, Integers, Texts, changes, joint_ids, place_entities
from spanwise.document import Document, Entity

Row = tuple[int, int, int]  # head, tail, label


@dataclass(frozen=True, slots=True)
class Relations:
    """Relations without duplicates. `head` and `tail` are ids of the arguments, shared by gold and predictions.

    A symmetric relation has its arguments in a fixed order. `sentence` is that of the argument that comes first,
    `distance` counts the words between the arguments (0 if they touch or overlap), `words` those of the longer one.
    """

    document: Integers
    head: Integers
    tail: Integers
    label: Integers
    score: Floats
    sentence: Integers
    distance: Integers
    words: Integers

    def __len__(self) -> int:
        return len(self.document)

    def take(self, rows: Integers | Booleans) -> Relations:
        return Relations(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True, slots=True)
class JudgedRelations:
    """Gold and predicted relations of one system, by RE or RE+, and whether their arguments are entities there."""

    gold: Relations
    predicted: Relations
    correct: Booleans
    found: Booleans
    gold_inherits: Booleans  # an argument of the gold relation was not predicted
    predicted_inherits: Booleans  # an argument of the predicted relation is not in gold


@dataclass(frozen=True, slots=True)
class RelationErrors:
    """All errors of relations: FP + FN = inherited_missing + inherited_spurious + 2 (type + direction) + missing +
    spurious."""

    false_positives: int
    false_negatives: int
    inherited_missing: int
    inherited_spurious: int
    type: int
    direction: int
    missing: int
    spurious: int

    @property
    def inherited(self) -> int:
        return self.inherited_missing + self.inherited_spurious

    @property
    def own(self) -> int:
        """False positives and false negatives that are not inherited."""
        return self.false_positives + self.false_negatives - self.inherited


@dataclass(frozen=True, slots=True)
class Arguments:
    """The head and the tail of every relation of some documents, with its label and score."""

    head: Entities
    tail: Entities
    label: Integers
    score: Floats


def read_arguments(
    texts: Texts, documents: Sequence[Document], labels: Mapping[str, int], relation_labels: Mapping[str, int]
) -> Arguments:
    """The arguments of all relations of documents that have these texts, in the same order."""
    rows = [
        (index, relation, document.entities[relation.head], document.entities[relation.tail])
        for index, document in enumerate(documents)
        for relation in document.relations
    ]
    document = np.fromiter((index for index, *_ in rows), np.int64, len(rows))
    label = np.fromiter((relation_labels[relation.label] for _, relation, *_ in rows), np.int64, len(rows))
    score = np.fromiter((relation.score for _, relation, *_ in rows), np.float64, len(rows))

    def side(entities: Sequence[Entity]) -> Entities:
        bounds = np.array([(e.start, e.end, labels[e.label]) for e in entities], np.int64).reshape(-1, 3)
        start, end = bounds[:, 0] + texts.offsets[document], bounds[:, 1] + texts.offsets[document]
        return place_entities(texts, document, start, end, bounds[:, 2], score)

    return Arguments(side([head for *_, head, _ in rows]), side([tail for *_, tail in rows]), label, score)


def judge_relations(
    gold: Arguments,
    predicted: Arguments,
    entities: tuple[Entities, Entities],
    symmetric: Collection[int],
    *,
    strict: bool,
) -> JudgedRelations:
    """Match relations by RE, or by RE+ if strict. `entities` are those of gold and those that were predicted."""
    tables = (gold.head, gold.tail, predicted.head, predicted.tail, *entities)
    columns = ("start", "end", "label") if strict else ("start", "end")
    ids = joint_ids(*(tuple(getattr(table, column) for table in tables) for column in columns))
    wanted = _relations(gold, ids[0], ids[1], symmetric)
    found = _relations(predicted, ids[2], ids[3], symmetric)
    gold_ids, found_ids = joint_ids((wanted.head, found.head), (wanted.tail, found.tail), (wanted.label, found.label))
    return JudgedRelations(
        gold=wanted,
        predicted=found,
        correct=np.isin(found_ids, gold_ids),
        found=np.isin(gold_ids, found_ids),
        gold_inherits=~(np.isin(wanted.head, ids[5]) & np.isin(wanted.tail, ids[5])),
        predicted_inherits=~(np.isin(found.head, ids[4]) & np.isin(found.tail, ids[4])),
    )


def _relations(arguments: Arguments, head: Integers, tail: Integers, symmetric: Collection[int]) -> Relations:
    one, two = arguments.head, arguments.tail
    swapped = np.isin(arguments.label, list(symmetric)) & (head > tail)
    head, tail = np.where(swapped, tail, head), np.where(swapped, head, tail)
    gap = np.maximum(one.first_word, two.first_word) - np.minimum(one.end_word, two.end_word)
    relations = Relations(
        document=one.document,
        head=head,
        tail=tail,
        label=arguments.label,
        score=arguments.score,
        sentence=np.minimum(one.sentence, two.sentence),
        distance=np.maximum(gap, 0),
        words=np.maximum(one.words, two.words),
    )
    order = np.lexsort((-relations.score, relations.label, tail, head, relations.document))
    ordered = relations.take(order)
    return ordered.take(changes(np.stack([ordered.head, ordered.tail, ordered.label])))


def relation_errors(judged: JudgedRelations, symmetric: Collection[int]) -> RelationErrors:
    """Count the errors by their cause."""
    missing, wrong = ~judged.found, ~judged.correct
    own_missing = _rows(judged.gold.take(missing & ~judged.gold_inherits))
    own_wrong = _rows(judged.predicted.take(wrong & ~judged.predicted_inherits))
    types, directions = _pair_own(own_missing, own_wrong, symmetric)
    return RelationErrors(
        false_positives=int(wrong.sum()),
        false_negatives=int(missing.sum()),
        inherited_missing=int((missing & judged.gold_inherits).sum()),
        inherited_spurious=int((wrong & judged.predicted_inherits).sum()),
        type=types,
        direction=directions,
        missing=len(own_missing) - types - directions,
        spurious=len(own_wrong) - types - directions,
    )


def _rows(relations: Relations) -> list[Row]:
    columns = relations.head.tolist(), relations.tail.tolist(), relations.label.tolist()
    return list(zip(*columns, strict=True))


def _pair_own(missing: Sequence[Row], wrong: Sequence[Row], symmetric: Collection[int]) -> tuple[int, int]:
    """The number of pairs that differ in type, and of those that differ in direction."""

    def differs_in_type(one: Row, other: Row) -> bool:
        unordered = one[2] in symmetric or other[2] in symmetric
        return one[2] != other[2] and (one[:2] == other[:2] or (unordered and one[:2] == other[1::-1]))

    def differs_in_direction(one: Row, other: Row) -> bool:
        return one[2] == other[2] and one[:2] == other[1::-1]

    left = defaultdict(list)
    for row in wrong:
        left[frozenset(row[:2])].append(row)
    open_rows, counts = list(missing), []
    for pairs in (differs_in_type, differs_in_direction):
        unpaired = []
        for row in open_rows:
            free = left[frozenset(row[:2])]
            partner = next((other for other in free if pairs(row, other)), None)
            if partner is None:
                unpaired.append(row)
            else:
                free.remove(partner)
        counts.append(len(open_rows) - len(unpaired))
        open_rows = unpaired
    return counts[0], counts[1]
