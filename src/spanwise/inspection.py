"""Inspect a corpus: counts per split, and problems that silently spoil training or a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, groupby
from typing import Any

from spanwise.corpora import Corpus
from spanwise.document import Document, Entity
from spanwise.formats.events import event_types
from spanwise.schema import Schema
from spanwise.text.alignment import AlignedDocument, align


@dataclass(frozen=True)
class SplitInspection:
    """The counts of one split.

    `events` counts entities that trigger an event; `nested` counts entities inside a wider entity (the same bounds with
    two labels do not count); `crossing` counts pairs that overlap without one inside the other; `shared_spans` counts
    spans with several labels. A document is a duplicate if its text occurs earlier in the split, an annotation if the
    same bounds and label occur earlier in the document. `oov_density` is the share of words that do not occur in train
    (BL-NER, eq. 21). `unknown_labels` are the entity and relation types that do not occur in train: no model can learn
    them. `widths` counts entities by their number of words.
    """

    documents: int
    words: int
    entities: int
    relations: int
    events: int
    nested: int
    crossing: int
    shared_spans: int
    duplicate_documents: int
    duplicate_annotations: int
    oov_density: float | None
    entity_types: Mapping[str, int]
    relation_types: Mapping[str, int]
    unknown_labels: tuple[str, ...]
    widths: Mapping[int, int]


@dataclass(frozen=True)
class MisalignedEntity:
    """An entity that is not on word boundaries; `document` is the document's id, or its index in the split."""

    split: str
    document: str
    label: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Inspection:
    """The inspection of a corpus.

    `width_coverage` maps N to the share of entities with at most N words, in train or, without train, in all splits.
    """

    splits: Mapping[str, SplitInspection]
    misaligned: tuple[MisalignedEntity, ...]
    width_coverage: Mapping[str, float]
    shared_with_test: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def inspect(corpus: Corpus) -> Inspection:
    """Count what the corpus contains and list what a model cannot learn from it."""
    splits = {name: tuple(map(align, documents)) for name, documents in corpus.splits.items()}
    train = [row.document for row in splits.get("train", ())]
    known = _Vocabulary.of(train)
    counted = {
        name: _inspect_split(rows, known if train and name != "train" else None) for name, rows in splits.items()
    }
    train_texts = {document.text for document in train}
    return Inspection(
        splits=counted,
        misaligned=tuple(found for name, rows in splits.items() for found in _misaligned(name, rows)),
        width_coverage=_coverage(measured_widths(counted)),
        shared_with_test=sum(row.document.text in train_texts for row in splits.get("test", ())),
    )


def measured_widths(splits: Mapping[str, SplitInspection]) -> Counter[int]:
    """The number of entities by width in words, in train or, without train, in all splits."""
    measured = [splits["train"]] if "train" in splits else splits.values()
    return sum((Counter(split.widths) for split in measured), Counter())


def nested(entities: Iterable[Entity]) -> int:
    """The number of entities inside a wider one."""
    count, furthest = 0, -1
    for (_, end), same in groupby(sorted(entities, key=_outer_first), key=lambda e: (e.start, e.end)):
        # every span seen so far starts earlier, or starts here and ends later
        count += len(list(same)) if end <= furthest else 0
        furthest = max(furthest, end)
    return count


def crossing(entities: Iterable[Entity]) -> int:
    """The number of pairs that overlap without one inside the other."""
    ordered = sorted(entities, key=_outer_first)
    count = 0
    for index, left in enumerate(ordered):
        for later in range(index + 1, len(ordered)):
            right = ordered[later]
            if right.start >= left.end:
                break
            count += left.start < right.start and left.end < right.end
    return count


def shared_spans(entities: Iterable[Entity]) -> int:
    """The number of spans that have several labels."""
    labels = Counter((start, end) for start, end, _ in {(e.start, e.end, e.label) for e in entities})
    return sum(count > 1 for count in labels.values())


@dataclass(frozen=True)
class _Vocabulary:
    """The words and labels that occur in documents."""

    words: frozenset[str]
    labels: Schema

    @classmethod
    def of(cls, documents: Sequence[Document]) -> _Vocabulary:
        words = frozenset(word for document in documents for word in document.word_texts)
        return cls(words, Schema.from_documents(documents))

    def missing(self, labels: Schema) -> tuple[str, ...]:
        """The names of the entity and relation types that do not occur."""
        entities = set(labels.entity_names) - set(self.labels.entity_names)
        relations = set(labels.relation_names) - set(self.labels.relation_names)
        return tuple(sorted(entities | relations))


def _inspect_split(rows: Sequence[AlignedDocument], known: _Vocabulary | None) -> SplitInspection:
    documents = [row.document for row in rows]
    entities = [entity for document in documents for entity in document.entities]
    relations = [relation for document in documents for relation in document.relations]
    words = [word for document in documents for word in document.word_texts]
    unseen = None if known is None else sum(word not in known.words for word in words)
    return SplitInspection(
        documents=len(documents),
        words=len(words),
        entities=len(entities),
        relations=len(relations),
        events=sum(entity.label in event_types(d) for d in documents for entity in d.entities),
        nested=sum(nested(document.entities) for document in documents),
        crossing=sum(crossing(document.entities) for document in documents),
        shared_spans=sum(shared_spans(document.entities) for document in documents),
        duplicate_documents=len(documents) - len({document.text for document in documents}),
        duplicate_annotations=sum(map(_duplicate_annotations, documents)),
        oov_density=None if unseen is None else unseen / max(1, len(words)),
        entity_types=_by_frequency(entity.label for entity in entities),
        relation_types=_by_frequency(relation.label for relation in relations),
        unknown_labels=() if known is None else known.missing(Schema.from_documents(documents)),
        widths=_widths(rows),
    )


def _duplicate_annotations(document: Document) -> int:
    entities = {(e.start, e.end, e.label) for e in document.entities}
    relations = {(r.head, r.tail, r.label) for r in document.relations}
    return len(document.entities) - len(entities) + len(document.relations) - len(relations)


def _widths(rows: Iterable[AlignedDocument]) -> dict[int, int]:
    spans = (span for row in rows for span in row.spans if span is not None)
    return dict(sorted(Counter(end - start for start, end in spans).items()))


def _coverage(widths: Counter[int]) -> dict[str, float]:
    total = widths.total()
    covered = accumulate(widths[width] for width in range(1, max(widths, default=0) + 1))
    return {str(width): count / total for width, count in enumerate(covered, 1)}


def _misaligned(split: str, rows: Sequence[AlignedDocument]) -> Iterable[MisalignedEntity]:
    for place, row in enumerate(rows):
        for entity in row.misaligned:
            name = row.document.id or str(place)
            yield MisalignedEntity(split, name, entity.label, entity.start, entity.end, row.document.text_of(entity))


def _by_frequency(labels: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(labels).items(), key=lambda item: (-item[1], item[0])))


def _outer_first(entity: Entity) -> tuple[int, int]:
    return entity.start, -entity.end
