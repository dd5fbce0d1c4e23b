"""Documents to examples: windows of words with their pieces and gold spans, ready for a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from spanwise.document import Document, Entity, Relation, outermost
from spanwise.schema import Schema
from spanwise.text.alignment import segmented, word_spans
from spanwise.text.pieces import WordPieces
from spanwise.text.sentences import sentence_starts
from spanwise.text.shapes import word_shape
from spanwise.text.windows import Window, cut_windows, sentence_windows

Integers = NDArray[np.int64]
WordSpan = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Example:
    """One window of a document's words. Gold spans are in words of the window, half-open."""

    document: Document
    window: Window
    pieces: Integers  # [P]  with special tokens
    counts: Integers  # [T]  pieces of each word
    shapes: Integers  # [T]
    gold: Integers  # [G, 3]  start, end, label
    gold_flat: NDArray[np.bool_]  # [G]  outermost
    relations: Integers  # [Q, 3]  head and tail as rows of gold, label; a symmetric one in both directions

    @property
    def length(self) -> int:
        return len(self.counts)


@dataclass(slots=True)
class LostGold:
    """Gold annotations that no example can carry: counted, listed, and told by whoever asked for the examples."""

    misaligned: list[tuple[Document, Entity]] = field(default_factory=list)  # not on word borders
    split: list[tuple[Document, Entity]] = field(default_factory=list)  # in no single window
    relations: list[tuple[Document, Relation]] = field(default_factory=list)  # between entities of no common window


class ExampleBuilder:
    """Cuts documents into examples of at most `limit` pieces, special tokens included."""

    def __init__(
        self, pieces: WordPieces, schema: Schema, *, limit: int, overlap: int, by_sentence: bool = False
    ) -> None:
        self.pieces = pieces
        self.limit = limit - len(pieces.prefix) - len(pieces.suffix)
        self.overlap = overlap
        self.by_sentence = by_sentence
        self.lost = LostGold()
        self._labels = {name: index for index, name in enumerate(schema.entity_names)}
        self._relations = {
            relation.name: (index, relation.symmetric) for index, relation in enumerate(schema.relations)
        }

    def build(self, documents: Iterable[Document], *, gold: bool, trim: bool = True) -> Iterator[list[Example]]:
        """The examples of each document in turn; none for a document without words.

        With `trim`, windows end before gold that their borders would cut, as they must where cut gold would be learnt.
        """
        for document in documents:
            document = segmented(document)
            yield list(self._examples(document, gold, trim)) if document.words else []

    def _examples(self, document: Document, with_gold: bool, trim: bool) -> Iterator[Example]:
        texts = document.word_texts
        ids = self.pieces(texts)
        counts = [len(word) for word in ids]
        windows = self._windows(document, counts)
        gold, flat, relations = _NO_GOLD, _NO_FLAT, _NO_GOLD
        if with_gold:
            spans = word_spans(document)
            if trim:
                windows = _without_cuts(windows, [span for span in spans if span is not None and _held(span, windows)])
            gold, flat, rows = self._gold(document, spans, windows)
            relations = self._links(document, gold, rows, windows)
        for window in windows:
            start, end = window.start, window.end
            inside = (gold[:, 0] >= start) & (gold[:, 1] <= end)
            place = np.cumsum(inside) - 1  # of gold among the window's own
            linked = relations[inside[relations[:, 0]] & inside[relations[:, 1]]]
            yield Example(
                document,
                window,
                np.array([*self.pieces.prefix, *(i for w in ids[start:end] for i in w), *self.pieces.suffix], np.int64),
                np.array(counts[start:end], np.int64),
                np.array([word_shape(text) for text in texts[start:end]], np.int64),
                gold[inside] - np.array([start, start, 0]),
                flat[inside],
                np.stack((place[linked[:, 0]], place[linked[:, 1]], linked[:, 2]), axis=1) if len(linked) else _NO_GOLD,
            )

    def _windows(self, document: Document, counts: list[int]) -> list[Window]:
        if self.by_sentence:
            starts = sentence_starts(document.text, document.words)
            return sentence_windows(counts, self.limit, self.overlap, starts)
        if sum(counts) <= self.limit:
            return [Window(0, len(counts), 0, len(counts))]
        return cut_windows(counts, self.limit, self.overlap, sentence_starts(document.text, document.words))

    def _gold(
        self, document: Document, spans: Sequence[WordSpan | None], windows: Sequence[Window]
    ) -> tuple[Integers, NDArray[np.bool_], dict[int, int]]:
        """Gold spans, which of them are outermost, and the row of each entity of the document that is among them."""
        kept, place = [], {}
        rows: list[tuple[int, int, int]] = []
        for index, (entity, span) in enumerate(zip(document.entities, spans, strict=True)):
            if span is None:
                self.lost.misaligned.append((document, entity))
            elif not _held(span, windows):
                self.lost.split.append((document, entity))
            else:
                place[index] = len(rows)
                kept.append(entity)
                rows.append((*span, self._labels[entity.label]))
        flat = set(outermost(kept))  # of those that can be learnt: a lost one hides none inside it
        return np.array(rows, np.int64).reshape(-1, 3), np.array([e in flat for e in kept], np.bool_), place

    def _links(self, document: Document, gold: Integers, rows: dict[int, int], windows: Sequence[Window]) -> Integers:
        """Relations between two gold spans that share a window; the rest is lost."""
        links = []
        for relation in document.relations:
            head, tail = rows.get(relation.head), rows.get(relation.tail)
            if head is None or tail is None or not _linkable(gold[[head, tail]], windows):
                self.lost.relations.append((document, relation))
                continue
            label, symmetric = self._relations[relation.label]
            links.append((head, tail, label))
            if symmetric:
                links.append((tail, head, label))
        return np.array(links, np.int64).reshape(-1, 3)


_NO_GOLD, _NO_FLAT = np.zeros((0, 3), np.int64), np.zeros(0, np.bool_)


def _held(span: WordSpan, windows: Iterable[Window]) -> bool:
    """Whether a window has the whole span."""
    return any(window.start <= span[0] and span[1] <= window.end for window in windows)


def _linkable(ends: Integers, windows: Iterable[Window]) -> bool:
    """Whether two spans are different ones and have a window in common."""
    return bool((ends[0, :2] != ends[1, :2]).any()) and _held((ends[:, 0].min(), ends[:, 1].max()), windows)


def _without_cuts(windows: list[Window], held: Sequence[WordSpan]) -> list[Window]:
    """The windows with borders that cut no gold, if all gold that was held in one still is."""
    whole = [uncut for window in windows if (uncut := _uncut(window, held)) is not None]
    return whole if all(_held(span, whole) for span in held) else windows


def _uncut(window: Window, held: Sequence[WordSpan]) -> Window | None:
    """The window without the words of gold that its borders cut: a model would learn that they are no entity.

    `held` is gold that another window has whole. None if no word is left.
    """
    start, end = window.start, window.end
    while start < end:
        inner_start = max((last for first, last in held if first < start < last), default=start)
        inner_end = min((first for first, last in held if first < end < last), default=end)
        if (inner_start, inner_end) == (start, end):
            return window._replace(start=start, end=end)
        start, end = inner_start, inner_end
    return None
