"""Sentences that show a case: the part of a document around a word, with the annotations inside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from spanwise.analysis.arrays import Entities, Texts
from spanwise.document import Document, Offsets, Relation

LONG, AROUND = 100, 40  # of a sentence with more words, those to either side of the word that is shown


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A sentence, as gold and a system's predictions have it. `document` is the gold document's id or its number."""

    document: str
    gold: Document
    predicted: Document


def excerpt(texts: Texts, predictions: Sequence[Document], document: int, word: int) -> Excerpt:
    """The sentence of a word in gold and in the predictions."""
    name = document_name(texts, document)
    bounds = sentence_bounds(texts, document, word, texts.documents[document], predictions[document])
    words = words_between(texts, document, bounds)
    return Excerpt(name, cut(texts.documents[document], bounds, words), cut(predictions[document], bounds, words))


def document_name(texts: Texts, document: int) -> str:
    """The id of a document, or its number, from 1."""
    return texts.documents[document].id or str(document + 1)


def sentence_bounds(texts: Texts, document: int, word: int, *annotated: Document) -> Offsets:
    """The characters of the sentence of this word; of a long sentence, the part around the word.

    They are widened to hold the entities that cross them in the annotated versions of the document.
    """
    first, stop = int(texts.first_words[document]), int(texts.first_words[document + 1])
    if first == stop:
        return Offsets(0, len(texts.documents[document].text))
    starts = texts.sentence_words
    sentence = int(starts.searchsorted(word, side="right")) - 1
    begin, end = max(first, int(starts[sentence])), min(stop, int(starts[sentence + 1]))
    if end - begin > LONG:
        begin, end = max(begin, word - AROUND), min(end, word + AROUND + 1)
    offset = int(texts.offsets[document])
    bounds = Offsets(int(texts.word_starts[begin]) - offset, int(texts.word_ends[end - 1]) - offset)
    crossing = [e for version in annotated for e in version.entities if e.start < bounds.end and bounds.start < e.end]
    return Offsets(min([bounds.start, *(e.start for e in crossing)]), max([bounds.end, *(e.end for e in crossing)]))


def cut(document: Document, bounds: Offsets, words: tuple[Offsets, ...]) -> Document:
    """The part of a document between these characters, with the entities and relations that lie inside it."""
    kept = [i for i, e in enumerate(document.entities) if bounds.start <= e.start and e.end <= bounds.end]
    place = {old: new for new, old in enumerate(kept)}
    entities = tuple(
        replace(entity, start=entity.start - bounds.start, end=entity.end - bounds.start, head=None)
        for entity in (document.entities[index] for index in kept)
    )
    return Document(
        document.text[bounds.start : bounds.end], words, entities, tuple(_moved(document.relations, place)), document.id
    )


def entity_text(texts: Texts, entities: Entities, index: int) -> str:
    """The text of an entity."""
    document = int(entities.document[index])
    offset = texts.offsets[document]
    return texts.documents[document].text[entities.start[index] - offset : entities.end[index] - offset]


def words_between(texts: Texts, document: int, bounds: Offsets) -> tuple[Offsets, ...]:
    """The words of a document between these characters, relative to their first."""
    offset = int(texts.offsets[document])
    first = int(texts.word_starts.searchsorted(bounds.start + offset))
    end = int(texts.word_starts.searchsorted(bounds.end + offset))
    move = offset + bounds.start
    pairs = zip(texts.word_starts[first:end].tolist(), texts.word_ends[first:end].tolist(), strict=True)
    return tuple(Offsets(start - move, stop - move) for start, stop in pairs)


def _moved(relations: Iterable[Relation], place: dict[int, int]) -> Iterable[Relation]:
    return (
        replace(relation, head=place[relation.head], tail=place[relation.tail])
        for relation in relations
        if relation.head in place and relation.tail in place
    )
