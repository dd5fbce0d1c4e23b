"""What the training data says about a test entity: label consistency and out-of-vocabulary words (BL-NER)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from spanwise.analysis.arrays import Entities, Floats, Texts
from spanwise.analysis.examples import entity_text
from spanwise.document import Document
from spanwise.text.alignment import ensure_words


def label_consistency(
    train: Sequence[Document], texts: Texts, tables: Sequence[Entities], labels: Sequence[str]
) -> list[Floats]:
    """eCon of every entity: the share of its text's occurrences in train that are annotated with its label.

    Eq. 23c, as printed, ranges over all entities of the training set, so that it would depend on the label alone. The
    paper's text explains what is meant, as in Fu et al. 2020: how often this very text ("rain") has this very label
    ("Weather"). An occurrence is a place in train where the text covers whole words, annotated or not; a text that
    does not occur in train has consistency 0.
    """
    surfaces = [[entity_text(texts, table, index) for index in range(len(table))] for table in tables]
    wanted = {surface for column in surfaces for surface in column}
    occurrences, labeled = _count_in_train(train, wanted)
    return [
        np.array(
            [
                labeled[surface, labels[label]] / max(1, occurrences[surface])
                for surface, label in zip(column, table.label.tolist(), strict=True)
            ],
            np.float64,
        )
        for column, table in zip(surfaces, tables, strict=True)
    ]


def _count_in_train(train: Iterable[Document], wanted: set[str]) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """How often each text occurs, and how often with each label."""
    lengths = _lengths_by_beginning(wanted)
    occurrences: Counter[str] = Counter()
    labeled: Counter[tuple[str, str]] = Counter()
    for document in train:
        text = document.text
        entities = {(e.start, e.end, e.label) for e in document.entities if text[e.start : e.end] in wanted}
        places = {*_places(document, wanted, lengths), *((start, end) for start, end, _ in entities)}
        occurrences.update(text[start:end] for start, end in places)
        labeled.update((text[start:end], label) for start, end, label in entities)
    return occurrences, labeled


BEGINNING = 3  # characters by which texts are looked up


def _lengths_by_beginning(wanted: Iterable[str]) -> dict[str, tuple[int, ...]]:
    lengths: defaultdict[str, set[int]] = defaultdict(set)
    for surface in wanted:
        lengths[surface[:BEGINNING]].add(len(surface))
    return {beginning: tuple(sorted(found)) for beginning, found in lengths.items()}


def _places(document: Document, wanted: set[str], lengths: dict[str, tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    """The bounds of the wanted texts that cover whole words."""
    text, words = document.text, ensure_words(document).words
    ends = {end for _, end in words}
    for start, _ in words:
        for size in range(1, BEGINNING + 1):
            for length in lengths.get(text[start : start + size], ()):
                end = start + length
                if end in ends and text[start:end] in wanted:
                    yield start, end


def oov_density(train: Iterable[Document], texts: Texts) -> Floats:
    """eq. 21, per sentence: the share of its words that do not occur in train, with upper and lower case distinct."""
    known = {word for document in train for word in ensure_words(document).word_texts}
    unseen = np.fromiter((word not in known for word in _words(texts)), np.int64, len(texts.word_starts))
    totals = np.concatenate([[0], np.cumsum(unseen)])
    return np.diff(totals[texts.sentence_words]) / np.maximum(texts.sentence_lengths, 1)


def _words(texts: Texts) -> Iterator[str]:
    for index, document in enumerate(texts.documents):
        first, end = texts.first_words[index], texts.first_words[index + 1]
        starts = (texts.word_starts[first:end] - texts.offsets[index]).tolist()
        ends = (texts.word_ends[first:end] - texts.offsets[index]).tolist()
        yield from (document.text[start:stop] for start, stop in zip(starts, ends, strict=True))
