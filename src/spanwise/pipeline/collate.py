"""Examples to batches of numpy arrays: padded words, candidates, texts of the labels, gold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spanwise.errors import SchemaError
from spanwise.seam.batch import Array, Batch, Gold, Ints, LabelTexts, Proposals, Words
from spanwise.seam.decoder import PredictedSpans
from spanwise.seam.proposals import Proposer, empty_proposals, stack_examples
from spanwise.text.examples import Example
from spanwise.text.pieces import WordPieces
from spanwise.text.words import segment


def collate(
    examples: Sequence[Example],
    pieces: WordPieces,
    proposer: Proposer | None,
    *,
    partner: Proposer | None = None,
    labels: LabelTexts[Array] | None = None,
    relation_labels: LabelTexts[Array] | None = None,
    gold: bool = False,
    rng: np.random.Generator | None = None,
) -> Batch[Array]:
    """Pad examples into a batch. With `rng`, for training, candidates are gold and sampled ones, else all there are."""
    types = len(examples[0].annotated)

    def proposed(by: Proposer | None) -> Proposals[Array]:
        return empty_proposals() if by is None else by.propose(examples, types, rng)

    return Batch(
        len(examples),
        _words(examples, pieces.pad, len(pieces.prefix)),
        proposed(proposer),
        labels,
        _gold(examples) if gold else None,
        proposed(partner) if partner is not None else None,
        relation_labels,
    )


def _words(examples: Sequence[Example], pad: int, prefix: int) -> Words[Array]:
    counts = _padded([e.counts for e in examples], 0)
    ends = np.cumsum(counts, axis=1) + prefix
    real = counts > 0
    place = np.arange(counts.shape[1])
    rows = [(e.length, e.first_scored, e.scored_words) for e in examples]
    lengths, first, words = np.array(rows).T[..., None]  # [B, 1] each
    return Words(
        pieces=_padded([e.pieces for e in examples], pad),
        piece_mask=_padded([np.ones_like(e.pieces) for e in examples], 0),
        first_piece=np.where(real, ends - counts, 0),
        last_piece=np.where(real, ends - 1, 0),
        shapes=_padded([e.shapes for e in examples], 0),
        present=place < lengths,
        scored=(place >= first) & (place < first + words),
    )


def _gold(examples: Sequence[Example]) -> Gold[Array]:
    return Gold(
        stack_examples([e.gold for e in examples]),
        np.concatenate([e.outermost for e in examples]),
        np.stack([e.annotated for e in examples]),
        np.array([e.sentences for e in examples], np.int64),
    )


def collate_given_entities(examples: Sequence[Example]) -> PredictedSpans:
    """The examples' own gold entities, as if they were predicted."""
    gold = stack_examples([e.gold for e in examples])
    return PredictedSpans(gold[:, :3], gold[:, 3], np.ones(len(gold), np.float32))


def label_texts(pieces: WordPieces, limit: int, texts: Sequence[str]) -> LabelTexts[Array]:
    """Descriptions of labels, or their names, as word pieces with the special ones around them.

    One without any is refused, and one that takes more than half of the encoder's window: too little would be left.
    """
    return padded_label_texts(pieces, label_pieces(pieces, limit, texts))


def label_pieces(pieces: WordPieces, limit: int, texts: Sequence[str]) -> list[Ints]:
    """The word pieces of each label text, special ones included."""
    rows = []
    for text in texts:
        own = [piece for word in pieces([text[start:end] for start, end in segment(text)]) for piece in word]
        rows.append(np.array([*pieces.prefix, *own, *pieces.suffix], np.int64))
        if not own:
            raise SchemaError("the description of a label is empty; write one for each.")
        if 2 * len(rows[-1]) > limit:
            raise SchemaError(f"the description {text[:40]!r}… has {len(own)} word pieces; shorten it to {limit // 3}.")
    return rows


def padded_label_texts(pieces: WordPieces, rows: Sequence[Ints]) -> LabelTexts[Array]:
    """Label texts from their word pieces."""
    lengths = np.array([len(row) for row in rows])[:, None]
    place = np.arange(lengths.max())
    content = (place >= len(pieces.prefix)) & (place < lengths - len(pieces.suffix))
    return LabelTexts(_padded(rows, pieces.pad), place < lengths, content)


def _padded(rows: Sequence[Ints], value: int) -> Ints:
    padded = np.full((len(rows), max(map(len, rows))), value, np.int64)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return padded
