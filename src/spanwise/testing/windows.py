"""Checks on long text: a decoder that reads letters shows whether windows lose, cut or duplicate an entity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import ClassVar, NamedTuple

import numpy as np

from spanwise.document import Document
from spanwise.pipeline.pipeline import Pipeline
from spanwise.seam.batch import Array, Batch
from spanwise.seam.decoder import Decoder, NoRows, PredictedSpans, Proposal, ScoreThresholds
from spanwise.seam.runner import Arrays, StageOne
from spanwise.testing.case import Case
from spanwise.testing.expectation import expect

WORDS = 480  # several windows of the tiny encoder


class Nothing(NamedTuple):
    """Empty scores, of a runner that computes none."""


class IdleRunner:
    """A runner without a model."""

    def forward(self, batch: Batch[Array]) -> StageOne:
        return StageOne(Nothing(), None)

    def rescore(self, features: object, rows: Arrays) -> Arrays:
        return Nothing()


@dataclass(frozen=True)
class LetterDecoder(Decoder[Nothing, NoRows, NoRows]):
    """`b` begins an entity and `i` continues it. An `i` without `b` counts too, as for a tagger at a window border."""

    kind: ClassVar[str] = "letters"
    first: ClassVar[type[tuple[object, ...]]] = Nothing

    begin: int  # ids of the word pieces b and i
    inside: int

    def propose(
        self, first: Nothing, batch: Batch[Array], thresholds: ScoreThresholds, given: PredictedSpans | None = None
    ) -> Proposal[NoRows]:
        words = batch.words
        letters = np.take_along_axis(words.pieces, words.first_piece.astype(np.int64), axis=1)
        letters = np.where(words.scored, letters, -1)
        spans = [
            (row, start, end)
            for row, line in enumerate(letters.tolist())
            for start, end in entity_bounds([{self.begin: "b", self.inside: "i"}.get(piece, "o") for piece in line])
        ]
        bounds = np.array(spans, np.int64).reshape(-1, 3)
        return Proposal(PredictedSpans(bounds, np.zeros(len(bounds), np.int64), np.full(len(bounds), 0.5, np.float32)))


def entity_bounds(letters: list[str]) -> list[tuple[int, int]]:
    """Half-open bounds of every run that begins with b, or with an i that continues nothing."""
    starts = [
        t for t, letter in enumerate(letters) if letter == "b" or (letter == "i" and (t == 0 or letters[t - 1] == "o"))
    ]
    bounds = []
    for start in starts:
        end = start + 1
        while end < len(letters) and letters[end] == "i":
            end += 1
        bounds.append((start, end))
    return bounds


def letter_reader(case: Case) -> Pipeline:
    """A pipeline with the windows of the case's model and the letter decoder."""
    pipeline = case.random
    begin, inside = (pipeline.pieces([letter])[0][0] for letter in "bi")
    reader = replace(pipeline.reader, proposer=None, decoder=LetterDecoder(begin, inside))
    return Pipeline(reader, pipeline.schema, pipeline.pieces, pipeline.windows, IdleRunner())


def check_long_text(case: Case) -> None:
    """In a text of many windows, every entity is predicted exactly once."""
    reader, rng = letter_reader(case), Random(1)  # noqa: S311
    for _ in range(10):
        words = _long_text(rng, widest=reader.windows.overlap)
        document = Document.from_words(words)
        expect(len(reader.task.builder.examples(document)) >= 5, "a long text has fewer windows than it should")
        wanted = [(document.words[s].start, document.words[e - 1].end) for s, e in entity_bounds(words)]
        (found,) = reader.predict([document])
        marked = [(e.start, e.end) for e in found.entities]
        expect(marked == wanted, f"of the entities {wanted}, a long text keeps {marked}")


def check_many_long_texts(case: Case) -> None:
    """Every long text of a batch keeps its text and its entity."""
    reader = letter_reader(case)
    texts = [" ".join(["o"] * n + ["b", "i"] + ["o"] * (500 - n)) for n in range(0, 500, 7)]
    for text, found in zip(texts, reader.predict([Document(text) for text in texts]), strict=True):
        expect(found.text == text, "a long text comes back changed")
        expect([found.text_of(e) for e in found.entities] == ["b i"], "an entity of a long text is lost")


def _long_text(rng: Random, widest: int) -> list[str]:
    """Words of a text at least five times as long as the encoder's limit; entities are at most `widest` words wide."""
    words: list[str] = []
    while len(words) < WORDS:
        width, gap = rng.randint(0, widest), rng.randint(1, 30)
        words += ["b"] * bool(width) + ["i"] * max(width - 1, 0) + ["o"] * gap + rng.choice([[], [".", "O"]])
    return words
