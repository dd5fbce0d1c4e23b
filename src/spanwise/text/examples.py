"""Convert documents to examples: windows of words with their word pieces and gold spans."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray

from spanwise.document import ANNOTATED, Document, Entity, Relation, outermost
from spanwise.errors import AnnotationError
from spanwise.schema import Schema
from spanwise.text.alignment import AlignedDocument, Span, ensure_words
from spanwise.text.pieces import WordPieces
from spanwise.text.sentences import LONG_SENTENCE, sentence_starts
from spanwise.text.shapes import word_shape
from spanwise.text.windows import Window, cut_windows, sentence_windows

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Example:
    """One window of a document's words, with context words around it that are encoded but never scored.

    Gold spans are half-open and in words of the example.
    """

    document: Document
    window: Window
    pieces: Integers  # [P]  with special tokens
    counts: Integers  # [T]  pieces of each word
    shapes: Integers  # [T]
    first_scored: int  # number of context words before the window
    gold: Integers  # [G, 3]  start, end, label
    outermost: Booleans  # [G]
    relations: Integers  # [Q, 3]  head and tail as rows of gold, label; symmetric relations in both directions
    annotated: Booleans  # [E]  labels that the document was annotated for
    sentences: int = 1  # of a training window; batches and negatives are counted in sentences

    def with_labels(self, labels: Integers) -> Example:
        """The example with the gold of these labels only, numbered in their order."""
        place = np.full(len(self.annotated), -1)
        place[labels] = np.arange(len(labels))
        label = place[self.gold[:, 2]]
        kept = label >= 0
        return replace(
            self,
            gold=np.concatenate((self.gold[kept, :2], label[kept, None]), axis=1),
            outermost=self.outermost[kept],
            relations=_linked(self.relations, kept),
            annotated=self.annotated[labels],
        )

    @property
    def length(self) -> int:
        return len(self.counts)

    @property
    def scored_words(self) -> int:
        return self.window.end - self.window.start

    @property
    def offset(self) -> int:
        """The index of the example's first word in the document."""
        return self.window.start - self.first_scored


@dataclass(frozen=True, slots=True)
class LostGold:
    """Gold annotations that no example contains."""

    misaligned: tuple[tuple[Document, Entity], ...] = ()  # not on word boundaries
    split: tuple[tuple[Document, Entity], ...] = ()  # not inside any single window
    relations: tuple[tuple[Document, Relation], ...] = ()  # between entities that share no window

    @classmethod
    def joined(cls, parts: Iterable[LostGold]) -> LostGold:
        rows = list(parts)
        columns = ([getattr(row, name) for row in rows] for name in ("misaligned", "split", "relations"))
        return cls(*(tuple(chain.from_iterable(column)) for column in columns))


@dataclass(frozen=True, slots=True)
class _Gold:
    """The gold of a document in word indices, and the part of it that is lost."""

    spans: Integers  # [G, 3]
    outermost: Booleans  # [G]
    relations: Integers  # [Q, 3]
    lost: LostGold = field(default_factory=LostGold)


_NO_GOLD = _Gold(np.zeros((0, 3), np.int64), np.zeros(0, np.bool_), np.zeros((0, 3), np.int64))


class ExampleBuilder:
    """Splits documents into examples of at most `limit` pieces, including special tokens. It keeps no state."""

    def __init__(
        self,
        pieces: WordPieces,
        schema: Schema,
        *,
        limit: int,
        overlap: int,
        by_sentence: bool = False,
        context: int = 0,
    ) -> None:
        self.pieces = pieces
        self.limit = limit - len(pieces.prefix) - len(pieces.suffix)
        self.overlap = overlap
        self.by_sentence = by_sentence
        self.context = context
        self._labels = {name: index for index, name in enumerate(schema.entity_names)}
        self._relations = {
            relation.name: (index, relation.symmetric) for index, relation in enumerate(schema.relations)
        }

    def limited(self, pieces: int, *, overlap: bool) -> ExampleBuilder:
        """The same builder with windows of at most this many pieces, special tokens not included."""
        if self.limit <= pieces:
            return self
        builder = copy(self)
        builder.limit = pieces
        builder.overlap = min(self.overlap, builder.limit // 4) if overlap else 0
        return builder

    def examples(self, document: Document) -> list[Example]:
        """Examples without gold; an empty list for a document without words."""
        document = ensure_words(document)
        if not document.words:
            return []
        ids, counts = self._pieces(document)
        return self._cut(document, ids, counts, self._windows(document, counts), _NO_GOLD)

    def gold_examples(self, row: AlignedDocument, *, trim: bool = True) -> tuple[list[Example], LostGold]:
        """Examples with gold, and the gold that none of them contains.

        With `trim`, windows end before gold that their borders would cut. Training needs this: the model would learn
        the cut gold as non-entities.
        """
        document = row.document
        if not document.words:
            return [], LostGold(misaligned=tuple((document, entity) for entity in document.entities))
        if trim:
            _check_annotated(document)
        ids, counts = self._pieces(document)
        windows = self._windows(document, counts)
        if trim:
            windows = _without_cuts(windows, [span for span in row.spans if span is not None and _held(span, windows)])
        gold = self._gold(row, windows)
        examples = self._cut(document, ids, counts, windows, gold)
        if len(document.words) > LONG_SENTENCE:
            starts = sentence_starts(document.text, document.words)
            examples = [replace(example, sentences=_sentences_in(example.window, starts)) for example in examples]
        return examples, gold.lost

    def _pieces(self, document: Document) -> tuple[list[tuple[int, ...]], list[int]]:
        ids = self.pieces(document.word_texts)
        return ids, [len(word) for word in ids]

    def _cut(
        self,
        document: Document,
        ids: Sequence[tuple[int, ...]],
        counts: Sequence[int],
        windows: Sequence[Window],
        gold: _Gold,
    ) -> list[Example]:
        shapes = [word_shape(text) for text in document.word_texts]
        annotated = np.ones(len(self._labels), np.bool_) if gold is _NO_GOLD else self._annotated(document)
        examples = []
        for window, (start, end) in zip(windows, self._reach(windows, counts), strict=True):
            inside = (gold.spans[:, 0] >= window.start) & (gold.spans[:, 1] <= window.end)
            examples.append(
                Example(
                    document,
                    window,
                    self._with_special(ids[start:end]),
                    np.array(counts[start:end], np.int64),
                    np.array(shapes[start:end], np.int64),
                    window.start - start,
                    gold.spans[inside] - np.array([start, start, 0]),
                    gold.outermost[inside],
                    _linked(gold.relations, inside),
                    annotated,
                )
            )
        return examples

    def _with_special(self, ids: Sequence[tuple[int, ...]]) -> Integers:
        return np.array([*self.pieces.prefix, *chain.from_iterable(ids), *self.pieces.suffix], np.int64)

    def _windows(self, document: Document, counts: list[int]) -> list[Window]:
        if self.by_sentence:
            starts = sentence_starts(document.text, document.words)
            return sentence_windows(counts, self.limit, self.overlap, starts)
        if sum(counts) <= self.limit:
            return [Window(0, len(counts), 0, len(counts))]
        limit = self.limit // 2 if self.context else self.limit
        return cut_windows(counts, limit, self.overlap, sentence_starts(document.text, document.words))

    def _reach(self, windows: Sequence[Window], counts: Sequence[int]) -> list[tuple[int, int]]:
        """The bounds of each window with up to `context` words on either side, as far as the piece limit allows.

        Words before the window take at most half of the free pieces.
        """
        if not self.context:
            return [(window.start, window.end) for window in windows]
        before = [0, *accumulate(counts)]
        reach = []
        for window in windows:
            room = max(self.limit - (before[window.end] - before[window.start]), 0)
            start = max(bisect_left(before, before[window.start] - room // 2), window.start - self.context, 0)
            room -= before[window.start] - before[start]
            end = min(bisect_right(before, before[window.end] + room) - 1, window.end + self.context, len(counts))
            reach.append((start, end))
        return reach

    def _annotated(self, document: Document) -> Booleans:
        known = document.metadata.get(ANNOTATED)
        if known is None:
            return np.ones(len(self._labels), np.bool_)
        return np.array([name in known for name in self._labels], np.bool_)

    def _gold(self, row: AlignedDocument, windows: Sequence[Window]) -> _Gold:
        document = row.document
        kept, place = [], {}
        spans: list[tuple[int, int, int]] = []
        misaligned, split = [], []
        for index, (entity, span) in enumerate(zip(document.entities, row.spans, strict=True)):
            if span is None:
                misaligned.append((document, entity))
            elif not _held(span, windows):
                split.append((document, entity))
            else:
                place[index] = len(spans)
                kept.append(entity)
                spans.append((*span, self._labels[entity.label]))
        flat = set(outermost(kept))  # among kept entities only: a lost entity hides none inside it
        gold = np.array(spans, np.int64).reshape(-1, 3)
        links, apart = self._links(document, gold, place, windows)
        lost = LostGold(tuple(misaligned), tuple(split), tuple(apart))
        return _Gold(gold, np.array([e in flat for e in kept], np.bool_), links, lost)

    def _links(
        self, document: Document, gold: Integers, rows: dict[int, int], windows: Sequence[Window]
    ) -> tuple[Integers, list[tuple[Document, Relation]]]:
        """Relations between two gold spans that share a window, and the relations that are lost."""
        links, lost = [], []
        for relation in document.relations:
            head, tail = rows.get(relation.head), rows.get(relation.tail)
            if head is None or tail is None or not _linkable(gold[[head, tail]], windows):
                lost.append((document, relation))
                continue
            label, symmetric = self._relations[relation.label]
            links.append((head, tail, label))
            if symmetric:
                links.append((tail, head, label))
        return np.array(links, np.int64).reshape(-1, 3), lost


def _sentences_in(window: Window, starts: Sequence[int]) -> int:
    """The number of sentences that begin in a window, and at least one per 64 words."""
    begun = bisect_left(starts, window.end) - bisect_left(starts, window.start)
    return max(begun, -(-(window.end - window.start) // LONG_SENTENCE))


def _check_annotated(document: Document) -> None:
    """Reject gold with a label that is not among those that the document's metadata lists as annotated."""
    known = document.metadata.get(ANNOTATED)
    if known is None:
        return
    name = f"document {document.id!r}: its metadata {ANNOTATED!r}"
    if not isinstance(known, (list, tuple, set, frozenset)):
        raise AnnotationError(f"{name} must be a list of labels, not {known!r}.")
    if unlisted := sorted({entity.label for entity in document.entities} - set(known)):
        raise AnnotationError(f"{name} does not list {unlisted[0]!r}, which occurs in the document; add it.")


def _linked(relations: Integers, inside: Booleans) -> Integers:
    """The relations between gold spans inside the window, with renumbered rows."""
    if not len(relations):
        return relations
    place = np.cumsum(inside) - 1
    kept = relations[inside[relations[:, 0]] & inside[relations[:, 1]]]
    return np.stack((place[kept[:, 0]], place[kept[:, 1]], kept[:, 2]), axis=1)


def _held(span: Span, windows: Iterable[Window]) -> bool:
    """Whether any window contains the whole span."""
    return any(window.start <= span[0] and span[1] <= window.end for window in windows)


def _linkable(ends: Integers, windows: Iterable[Window]) -> bool:
    """Whether two spans differ and share a window."""
    return bool((ends[0, :2] != ends[1, :2]).any()) and _held((ends[:, 0].min(), ends[:, 1].max()), windows)


def _without_cuts(windows: list[Window], held: Sequence[Span]) -> list[Window]:
    """The windows trimmed to cut no gold; unchanged if a held gold span would then be in no window."""
    whole = [uncut for window in windows if (uncut := _uncut(window, held)) is not None]
    return whole if all(_held(span, whole) for span in held) else windows


def _uncut(window: Window, held: Sequence[Span]) -> Window | None:
    """The window without the words of gold that its borders cut: a model would learn them as non-entities.

    `held` is gold that some window contains entirely. The result is None if no word is left.
    """
    start, end = window.start, window.end
    while start < end:
        inner_start = max((last for first, last in held if first < start < last), default=start)
        inner_end = min((first for first, last in held if first < end < last), default=end)
        if (inner_start, inner_end) == (start, end):
            return window._replace(start=start, end=end)
        start, end = inner_start, inner_end
    return None
