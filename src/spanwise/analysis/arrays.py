"""All texts as one line of characters, and all entities as arrays over it. Every count of the analysis reads these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spanwise.document import Document
from spanwise.text.sentences import LONG_SENTENCE, sentence_starts
from spanwise.text.words import segment

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Texts:
    """The gold documents, their words and sentences. Positions run over all documents: characters, words, sentences.

    Words are those of the gold document; a document without words is segmented. A document of up to 64 words is one
    sentence, a longer one is split. Predictions are placed on the words of gold.
    """

    documents: Sequence[Document]
    offsets: Integers  # [D + 1] the first character of each document
    word_starts: Integers  # [W] characters
    word_ends: Integers  # [W]
    first_words: Integers  # [D + 1]
    sentence_words: Integers  # [S + 1] the first word of each sentence
    first_sentences: Integers  # [D + 1]

    @property
    def sentence_lengths(self) -> Integers:
        return np.diff(self.sentence_words)

    def sentence_document(self, sentence: int) -> int:
        return int(np.searchsorted(self.first_sentences, sentence, side="right")) - 1


def read_texts(documents: Sequence[Document]) -> Texts:
    """Words and sentences of all documents, as positions on one line. One character separates two documents."""
    lengths = np.fromiter((len(document.text) + 1 for document in documents), np.int64, len(documents))
    offsets = _cumulated(lengths)
    flat: list[Integers] = []
    word_counts, sentence_counts, starts = [], [], []
    for index, document in enumerate(documents):
        words = document.words or segment(document.text)
        flat.append(np.fromiter(chain.from_iterable(words), np.int64, 2 * len(words)) + offsets[index])
        found = sentence_starts(document.text, words) if len(words) > LONG_SENTENCE else [0]
        word_counts.append(len(words))
        sentence_counts.append(len(found))
        starts.append(found)
    bounds = np.concatenate([*flat, np.zeros(0, np.int64)]).reshape(-1, 2)
    first_words = _cumulated(np.array(word_counts, np.int64))
    local = np.fromiter(chain.from_iterable(starts), np.int64)
    sentence_words = np.append(local + np.repeat(first_words[:-1], sentence_counts), first_words[-1])
    first_sentences = _cumulated(np.array(sentence_counts, np.int64))
    return Texts(
        documents, offsets, bounds[:, 0].copy(), bounds[:, 1].copy(), first_words, sentence_words, first_sentences
    )


@dataclass(frozen=True, slots=True)
class Entities:
    """Entities without duplicates, ordered by document, start, end and label.

    `words` is the number of words that an entity touches, at least 1; `sentence` is that of its first word. Of
    duplicates, the highest score counts.
    """

    document: Integers
    start: Integers  # characters on the line of all texts
    end: Integers
    label: Integers
    score: Floats
    first_word: Integers
    end_word: Integers
    sentence: Integers

    def __len__(self) -> int:
        return len(self.document)

    @property
    def words(self) -> Integers:
        widths: Integers = np.maximum(self.end_word - self.first_word, 1)
        return widths

    def take(self, rows: Integers | Booleans) -> Entities:
        return Entities(*(getattr(self, field.name)[rows] for field in fields(self)))


def read_entities(texts: Texts, documents: Sequence[Document], labels: Mapping[str, int]) -> Entities:
    """The entities of documents that have these texts, in the same order."""
    counts = [len(document.entities) for document in documents]
    entities = [entity for document in documents for entity in document.entities]
    document = np.repeat(np.arange(len(documents)), counts)
    start = _integers(entity.start for entity in entities) + texts.offsets[document]
    end = _integers(entity.end for entity in entities) + texts.offsets[document]
    label = _integers(labels[entity.label] for entity in entities)
    score = np.fromiter((entity.score for entity in entities), np.float64, len(entities))
    order = np.lexsort((-score, label, end, start))
    rows = np.stack([start, end, label])[:, order]
    kept = order[changes(rows)]
    return place_entities(texts, document[kept], start[kept], end[kept], label[kept], score[kept])


def place_entities(
    texts: Texts, document: Integers, start: Integers, end: Integers, label: Integers, score: Floats
) -> Entities:
    """Entities with the words that they touch and their sentences."""
    last = np.maximum(texts.first_words[document + 1] - 1, texts.first_words[document])
    first_word = np.minimum(np.searchsorted(texts.word_ends, start, side="right"), last)
    end_word = np.searchsorted(texts.word_starts, end, side="left")
    sentence = np.searchsorted(texts.sentence_words[:-1], first_word, side="right") - 1
    first, stop = texts.first_sentences[document], texts.first_sentences[document + 1]
    return Entities(document, start, end, label, score, first_word, end_word, np.clip(sentence, first, stop - 1))


def misaligned(texts: Texts, entities: Entities) -> int:
    """The number of entities that start or end inside a word or between words."""
    if not len(texts.word_starts):
        return len(entities)
    first = np.minimum(entities.first_word, len(texts.word_starts) - 1)
    last = np.clip(entities.end_word - 1, 0, len(texts.word_ends) - 1)
    exact = (texts.word_starts[first] == entities.start) & (texts.word_ends[last] == entities.end)
    return int((~exact).sum())


def joint_ids(*columns: tuple[Integers, ...]) -> tuple[Integers, ...]:
    """Ids of rows over several tables: equal rows, and only they, have the same id.

    Each argument is a column, with one array per table.
    """
    sizes = [len(part) for part in columns[0]]
    ids = np.zeros(sum(sizes), np.int64)
    for column in columns:
        values = np.unique(np.concatenate(column), return_inverse=True)[1]
        ids = np.unique(ids * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1]
    return tuple(np.split(ids, np.cumsum(sizes)[:-1]))


def overlapping(
    starts: Integers, ends: Integers, other_starts: Integers, other_ends: Integers
) -> tuple[Integers, Integers]:
    """The indices of all pairs of a span and another span that share a character. The others are ordered by start."""
    # Of the others, those from `first` on end after the span starts; those before `stop` start before it ends.
    first = np.searchsorted(np.maximum.accumulate(other_ends), starts, side="right")
    stop = np.searchsorted(other_starts, ends, side="left")
    counts = np.maximum(stop - first, 0)
    one = np.repeat(np.arange(len(starts)), counts)
    other = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    real = other_ends[other] > starts[one]
    return one[real], other[real]


def _cumulated(counts: Integers) -> Integers:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def changes(rows: Integers) -> Booleans:
    """Whether each column differs from the one before it."""
    changed = np.ones(rows.shape[1], bool)
    changed[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
    return changed


def _integers(values: Iterable[Any]) -> Integers:
    return np.fromiter(values, np.int64)
