"""Documents to examples: windows of words with their pieces and gold spans, ready for a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from spanwise.document import Document, Entity, outermost
from spanwise.schema import Schema
from spanwise.text.alignment import segmented, word_spans
from spanwise.text.pieces import WordPieces
from spanwise.text.sentences import sentence_starts
from spanwise.text.shapes import word_shape
from spanwise.text.windows import Window, cut_windows

Integers = NDArray[np.int64]


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

    @property
    def length(self) -> int:
        return len(self.counts)


@dataclass(slots=True)
class LostGold:
    """Gold annotations that no example can carry: counted, listed, and told by whoever asked for the examples."""

    misaligned: list[tuple[Document, Entity]] = field(default_factory=list)  # not on word borders
    split: list[tuple[Document, Entity]] = field(default_factory=list)  # in no single window

    def __len__(self) -> int:
        return len(self.misaligned) + len(self.split)


class ExampleBuilder:
    """Cuts documents into examples of at most `limit` pieces, special tokens included."""

    def __init__(self, pieces: WordPieces, schema: Schema, *, limit: int, overlap: int) -> None:
        self.pieces = pieces
        self.limit = limit - len(pieces.prefix) - len(pieces.suffix)
        self.overlap = overlap
        self.lost = LostGold()
        self._labels = {name: index for index, name in enumerate(schema.entity_names)}

    def build(self, documents: Iterable[Document], *, gold: bool) -> Iterator[list[Example]]:
        """The examples of each document in turn; none for a document without words."""
        for document in documents:
            document = segmented(document)
            yield list(self._examples(document, gold)) if document.words else []

    def _examples(self, document: Document, with_gold: bool) -> Iterator[Example]:
        texts = document.word_texts
        ids = self.pieces(texts)
        counts = [len(word) for word in ids]
        if sum(counts) <= self.limit:
            windows = [Window(0, len(ids), 0, len(ids))]
        else:
            windows = cut_windows(counts, self.limit, self.overlap, sentence_starts(document.text, document.words))
        gold, flat = self._gold(document, windows) if with_gold else (_NO_GOLD, _NO_FLAT)
        for window in windows:
            start, end = window.start, window.end
            inside = (gold[:, 0] >= start) & (gold[:, 1] <= end)
            yield Example(
                document,
                window,
                np.array([*self.pieces.prefix, *(i for w in ids[start:end] for i in w), *self.pieces.suffix], np.int64),
                np.array(counts[start:end], np.int64),
                np.array([word_shape(text) for text in texts[start:end]], np.int64),
                gold[inside] - np.array([start, start, 0]),
                flat[inside],
            )

    def _gold(self, document: Document, windows: list[Window]) -> tuple[Integers, NDArray[np.bool_]]:
        kept, rows = [], []
        for entity, span in zip(document.entities, word_spans(document), strict=True):
            if span is None:
                self.lost.misaligned.append((document, entity))
            elif not any(w.start <= span[0] and span[1] <= w.end for w in windows):
                self.lost.split.append((document, entity))
            else:
                kept.append(entity)
                rows.append((*span, self._labels[entity.label]))
        flat = set(outermost(kept))  # of those that can be learnt: a lost one hides none inside it
        return np.array(rows, np.int64).reshape(-1, 3), np.array([entity in flat for entity in kept], np.bool_)


_NO_GOLD, _NO_FLAT = np.zeros((0, 3), np.int64), np.zeros(0, np.bool_)
