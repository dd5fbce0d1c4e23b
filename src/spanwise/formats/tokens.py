"""What the formats that hold words share: entities as stretches of words, and what does not fit them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from spanwise.document import Document, Offsets, Relation, entities_on_words, outermost, overlap
from spanwise.errors import LossyError
from spanwise.formats.writing import Writer, named


class WordSpan(NamedTuple):
    """An entity by the indices of its words, half-open."""

    first: int
    last: int
    label: str


def build(
    words: Sequence[str],
    spans: Sequence[tuple[int, int, str]],
    relations: Iterable[Relation] = (),
    *,
    text: str,
    id: str,
    metadata: Mapping[str, Any],
) -> Document:
    """A document over the text that its words were taken from; joined by spaces if they are not found in it."""
    offsets = None if text == " ".join(words) else locate(words, text)
    if offsets is None:
        return Document.from_words(words, spans, relations, id=id, metadata=metadata)
    return Document(text, offsets, entities_on_words(offsets, spans, id), tuple(relations), id, metadata)


def align_to_words(document: Document, writer: Writer) -> Document:
    """The document with those of its entities that stand on word boundaries."""
    if not document.words and document.text.strip():
        raise LossyError(
            f"{named(document)} has no words, which this format needs; segment it first "
            f"(spanwise.text.words.segment; `spanwise convert` does it automatically).",
            writer.path,
        )
    writer.drop_or_refuse(document, "text outside words", _uncovered(document))
    starts, ends = _borders(document)
    off = {i for i, e in enumerate(document.entities) if e.start not in starts or e.end not in ends}
    writer.drop_or_refuse(document, "entity not on word boundaries", len(off))
    return without(document, off, writer)


def head_words(document: Document, writer: Writer) -> list[tuple[int, int] | None]:
    """For each entity the words of its head region, if it marks one and that stands on word boundaries."""
    starts, ends = _borders(document)
    heads = [
        (starts[e.head.start], ends[e.head.end]) if e.head and e.head.start in starts and e.head.end in ends else None
        for e in document.entities
    ]
    marked = sum(entity.head is not None for entity in document.entities)
    writer.drop_or_refuse(
        document, "head region not on word boundaries", marked - sum(head is not None for head in heads)
    )
    return heads


def word_spans(document: Document) -> list[WordSpan]:
    """The entities, all of which stand on word boundaries, as stretches of words."""
    starts, ends = _borders(document)
    return [WordSpan(starts[e.start], ends[e.end], e.label) for e in document.entities]


def _borders(document: Document) -> tuple[dict[int, int], dict[int, int]]:
    """The index of the word that starts at a character, and of the one after the word that ends there."""
    starts = {start: index for index, (start, _) in enumerate(document.words)}
    ends = {end: index + 1 for index, (_, end) in enumerate(document.words)}
    return starts, ends


def without(document: Document, dropped: set[int], writer: Writer) -> Document:
    """The document without these entities and the relations that need them; the relations are counted."""
    if not dropped:
        return document
    kept = document.select_entities(index for index in range(len(document.entities)) if index not in dropped)
    writer.drop_or_refuse(document, "relation of a dropped entity", len(document.relations) - len(kept.relations))
    return kept


def flattened(document: Document, writer: Writer) -> Document:
    """The document without relations and overlaps."""
    writer.drop_or_refuse(document, "relation", len(document.relations))
    if not overlap(document.entities):
        return document.without_relations()
    kept = outermost(document.entities)
    same = len(document.entities) - len({(e.start, e.end) for e in document.entities})
    writer.drop_or_refuse(document, "second label on one span", same)
    writer.drop_or_refuse(document, "nested or overlapping entity", len(document.entities) - len(kept) - same)
    return document.with_annotations(kept)


def _uncovered(document: Document) -> int:
    """How many stretches of the text, more than space, belong to no word."""
    borders = [0, *(border for word in document.words for border in word), len(document.text)]
    gaps = zip(borders[::2], borders[1::2], strict=True)
    return sum(bool(document.text[start:end].strip()) for start, end in gaps)


def count_spacing(document: Document, joiner: str, writer: Writer) -> None:
    """Count a text that cannot be rebuilt from its words: its spacing is not kept."""
    writer.count_dropped("spacing of a text", joiner.join(document.word_texts) != document.text)


def locate(words: Sequence[str], text: str) -> tuple[Offsets, ...] | None:
    """Where the words stand in a text that holds nothing else but space; None if they do not."""
    offsets, cursor = [], 0
    for word in words:
        start = text.find(word, cursor) if word else -1
        if start < 0 or text[cursor:start].strip():
            return None
        cursor = start + len(word)
        offsets.append(Offsets(start, cursor))
    return None if text[cursor:].strip() else tuple(offsets)
