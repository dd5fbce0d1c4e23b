"""Statistics of training data: counts, script, entity widths and overlaps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from textwrap import shorten

from spanwise.text.alignment import AlignedDocument, Span
from spanwise.text.sentences import count_sentences
from spanwise.text.words import detect_script

Marked = tuple[int, int, str]  # start word, end word (exclusive), label
FEW_EXAMPLES = 10  # entities of a label below which a model hardly learns it
SCRIPT_DOCUMENTS, SCRIPT_CHARACTERS = 500, 200  # enough text to detect the script


@dataclass(frozen=True, slots=True)
class DataProfile:
    """Statistics for choosing a model and its options; widths and overlaps count only aligned entities."""

    documents: int = 0
    words: int = 0
    sentences: int = 0  # a document of up to 64 words counts as one
    entities: int = 0
    relations: int = 0
    labels: int = 0
    label_counts: Mapping[str, int] = field(default_factory=dict)  # entities by label
    script: str = "none"
    widths: Mapping[int, int] = field(default_factory=dict)  # number of entities by width in words, without duplicates
    nested: bool = False  # two entities with different bounds overlap
    shared_entities: int = 0  # entities whose exact span also has an entity of another label
    tag_pairs: frozenset[tuple[str, str]] = frozenset()  # BIO tags of words in two entities, the first entity first
    words_in_3plus_entities: int = 0
    relation_widths: Mapping[int, int] = field(default_factory=dict)  # number of relations by width of wider argument

    @property
    def aligned_entities(self) -> int:
        return sum(self.widths.values())

    def covering_width(self, share: float) -> int:
        """The smallest width that covers this share of the entities."""
        total, covered = self.aligned_entities, 0
        for width in sorted(self.widths):
            covered += self.widths[width]
            if covered >= share * total:
                return width
        return 1

    def rare_labels(self) -> dict[str, int]:
        """Labels with too few examples to learn, and how many they have."""
        return {label: count for label, count in self.label_counts.items() if count < FEW_EXAMPLES}

    def wider_than(self, width: int) -> int:
        """The number of entities with more than `width` words."""
        return _beyond(self.widths, width)

    def relations_wider_than(self, width: int) -> int:
        """The number of relations with an argument of more than `width` words."""
        return _beyond(self.relation_widths, width)


def profile(documents: Iterable[AlignedDocument]) -> DataProfile:
    """Compute the statistics of the documents."""
    rows = list(documents)
    counts = Counter(entity.label for row in rows for entity in row.document.entities)
    marked = [_marked(row) for row in rows]
    overlapping = [entities for entities in marked if _overlap((start, end) for start, end, _ in entities)]
    labels = [Counter((start, end) for start, end, _ in entities) for entities in overlapping]  # per span
    tags = [tags for entities in overlapping for tags in _shared_tags(entities)]
    return DataProfile(
        documents=len(rows),
        words=sum(len(row.document.words) for row in rows),
        sentences=sum(count_sentences(row.document.text, row.document.words) for row in rows),
        entities=sum(len(row.document.entities) for row in rows),
        relations=sum(len(row.document.relations) for row in rows),
        labels=len(counts),
        label_counts=dict(sorted(counts.items())),
        script=_script(rows),
        widths=_counted(end - start for entities in marked for start, end, _ in entities),
        nested=any(_overlap(spans) for spans in labels),
        shared_entities=sum(count for spans in labels for count in spans.values() if count > 1),
        tag_pairs=frozenset((first, second) for first, second, *_ in tags),
        words_in_3plus_entities=sum(len(row) > 2 for row in tags),
        relation_widths=_counted(width for row in rows for width in _relation_widths(row)),
    )


def rare_labels_notice(rare: Mapping[str, int]) -> str:
    """The sentence that warns of labels with too few examples."""
    listed = ", ".join(f"{label} ({count})" for label, count in sorted(rare.items(), key=lambda item: item[1]))
    return f"fewer than {FEW_EXAMPLES} training examples, too few to learn: {shorten(listed, 200, placeholder=' …')}."


def _marked(row: AlignedDocument) -> set[Marked]:
    """The aligned entities, without duplicates."""
    pairs = zip(row.spans, row.document.entities, strict=True)
    return {(*span, entity.label) for span, entity in pairs if span is not None}


def _script(rows: Sequence[AlignedDocument]) -> str:
    """The most frequent script among the documents."""
    counts = Counter(detect_script(row.document.text[:SCRIPT_CHARACTERS]) for row in rows[:SCRIPT_DOCUMENTS])
    return counts.most_common(1)[0][0] if counts else "none"


def _shared_tags(marked: Iterable[Marked]) -> Iterator[list[str]]:
    """The BIO tags of each word in several entities, ordered by entity start; of equal starts, the widest first."""
    tags: defaultdict[int, list[str]] = defaultdict(list)
    for start, end, label in sorted(marked, key=lambda entity: (entity[0], -entity[1], entity[2])):
        for word in range(start, end):
            tags[word].append(f"{'I' if word > start else 'B'}-{label}")
    yield from (row for row in tags.values() if len(row) > 1)


def _relation_widths(row: AlignedDocument) -> Iterator[int]:
    """The width in words of each relation's wider argument; arguments that are not aligned do not count."""
    for relation in row.document.relations:
        spans = [span for span in (row.spans[relation.head], row.spans[relation.tail]) if span is not None]
        if spans:
            yield max(end - start for start, end in spans)


def _overlap(spans: Iterable[Span]) -> bool:
    """Whether two of the spans share a word."""
    return any(one[1] > two[0] for one, two in pairwise(sorted(spans)))


def _counted(widths: Iterable[int]) -> dict[int, int]:
    return dict(sorted(Counter(widths).items()))


def _beyond(widths: Mapping[int, int], width: int) -> int:
    return sum(count for other, count in widths.items() if other > width)
