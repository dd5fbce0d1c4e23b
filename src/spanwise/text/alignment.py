"""Entities by character to spans by word. What does not fall on word borders is told, never moved or dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spanwise.document import Document, Entity
from spanwise.text.words import segment


@dataclass(frozen=True, slots=True)
class Alignment:
    """For each entity the words it covers, half-open, or None when one of its borders lies inside a word or a gap."""

    spans: tuple[tuple[int, int] | None, ...]
    misaligned: tuple[Entity, ...]


def align(document: Document) -> Alignment:
    """Map the entities to words. A document without words is segmented first, as the model will see it."""
    spans = word_spans(document)
    misaligned = (entity for entity, span in zip(document.entities, spans, strict=True) if span is None)
    return Alignment(tuple(spans), tuple(misaligned))


def word_spans(document: Document) -> list[tuple[int, int] | None]:
    """The words each entity covers, half-open, in the entities' order; None when it does not fall on word borders."""
    if not document.entities:
        return []
    words = segmented(document).words
    first = {word.start: index for index, word in enumerate(words)}
    last = {word.end: index + 1 for index, word in enumerate(words)}
    spans: list[tuple[int, int] | None] = []
    for entity in document.entities:
        start, end = first.get(entity.start), last.get(entity.end)
        spans.append(None if start is None or end is None else (start, end))
    return spans


def segmented(document: Document) -> Document:
    """The document with words: its own, or those of its text when it has none yet."""
    return document if document.words else replace(document, words=segment(document.text))
