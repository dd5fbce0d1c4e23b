"""Map entities from characters to words. Entities that are not on word boundaries are reported, not changed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from spanwise.document import Document, Entity
from spanwise.text.words import segment

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class AlignedDocument:
    """A document with words, and the half-open word span of each entity; None if it is not on word boundaries."""

    document: Document
    spans: tuple[Span | None, ...]

    @property
    def misaligned(self) -> tuple[Entity, ...]:
        """The entities that start or end inside a word or between words."""
        return tuple(e for e, span in zip(self.document.entities, self.spans, strict=True) if span is None)

    def select_entities(self, indices: Iterable[int]) -> AlignedDocument:
        """Only the entities at these indices and the relations between them, without aligning again."""
        kept = list(indices)
        return AlignedDocument(self.document.select_entities(kept), tuple(self.spans[index] for index in kept))

    def filter_labels(self, labels: Collection[str]) -> AlignedDocument:
        """Only the entities with these labels and the relations between them, without aligning again."""
        return self.select_entities(
            index for index, entity in enumerate(self.document.entities) if entity.label in labels
        )


def align(document: Document | AlignedDocument) -> AlignedDocument:
    """Map entities to words, unless already done. A document without words is segmented first, as for the model."""
    if isinstance(document, AlignedDocument):
        return document
    document = ensure_words(document)
    return AlignedDocument(document, tuple(word_spans(document)))


def word_spans(document: Document) -> list[Span | None]:
    """The half-open word span of each entity, in the entities' order; None if it is not on word boundaries."""
    if not document.entities:
        return []
    words = ensure_words(document).words
    spans: list[Span | None] = []
    for entity in document.entities:
        # (x,) sorts before every word that starts at x
        first = bisect_left(words, (entity.start,))
        end = bisect_left(words, (entity.end,), first)
        exact = first < end and words[first].start == entity.start and words[end - 1].end == entity.end
        spans.append((first, end) if exact else None)
    return spans


def ensure_words(document: Document) -> Document:
    """The document with its words; if it has none, its text is segmented."""
    return document if document.words else document.with_words(segment(document.text))
