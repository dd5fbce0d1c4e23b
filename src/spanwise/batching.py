"""Examples to batches: bucketed by length, cut by a budget, padded, with candidate spans sampled or enumerated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from spanwise.errors import SchemaError
from spanwise.models.base import Candidates
from spanwise.nn.batch import Batch
from spanwise.nn.candidates import all_spans, sample_negatives, sample_pairs
from spanwise.nn.labels import LabelPieces
from spanwise.text.examples import Example
from spanwise.text.pieces import WordPieces
from spanwise.text.words import segment

BUCKET = 50  # batches that are sorted by length together in training


def training_batches(examples: Sequence[Example], size: int, rng: np.random.Generator) -> list[list[int]]:
    """Indices of every example once, in batches of `size` of similar length, shuffled."""
    order = rng.permutation(len(examples))
    batches = []
    for at in range(0, len(order), BUCKET * size):
        bucket = sorted(order[at : at + BUCKET * size].tolist(), key=lambda i: len(examples[i].pieces))
        batches += [bucket[i : i + size] for i in range(0, len(bucket), size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def prediction_batches(examples: Sequence[Example], token_budget: int) -> Iterator[list[int]]:
    """Indices of every example once, sorted by length and cut so that a padded batch holds at most the budget."""
    batch: list[int] = []
    for index in sorted(range(len(examples)), key=lambda i: len(examples[i].pieces)):
        if batch and (len(batch) + 1) * len(examples[index].pieces) > token_budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def collate(
    examples: Sequence[Example],
    pad: int,
    prefix: int,
    candidates: Candidates | None,
    rng: np.random.Generator | None = None,
) -> Batch:
    """Pad examples into a batch. With `rng` its candidates are gold and sampled spans, without it all there are."""
    lengths = [example.length for example in examples]
    pieces = _pad([e.pieces for e in examples], pad)
    counts = _pad([e.counts for e in examples], 0)
    ends = np.cumsum(counts, axis=1) + prefix
    real = counts > 0
    gold = _packed([e.gold for e in examples])
    spans, labels = _candidates(examples, candidates, rng)
    pairs, pair_labels = _pairs(examples, spans, candidates, rng)
    return Batch(
        pieces=torch.from_numpy(pieces),
        piece_mask=torch.from_numpy(_pad([np.ones_like(e.pieces) for e in examples], 0)),
        first_piece=torch.from_numpy(np.where(real, ends - counts, 0)),
        last_piece=torch.from_numpy(np.where(real, ends - 1, 0)),
        word_mask=torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1),
        shapes=torch.from_numpy(_pad([e.shapes for e in examples], 0)),
        spans=spans,
        span_labels=labels,
        pairs=pairs,
        pair_labels=pair_labels,
        gold=torch.from_numpy(gold),
        gold_flat=torch.from_numpy(np.concatenate([e.gold_flat for e in examples])),
    )


def _candidates(
    examples: Sequence[Example], wanted: Candidates | None, rng: np.random.Generator | None
) -> tuple[Tensor, Tensor]:
    if wanted is None:
        return torch.zeros(0, 3, dtype=torch.long), torch.zeros(0, dtype=torch.long)
    if rng is None:
        spans = torch.from_numpy(_packed([all_spans(e.length, wanted.max_width) for e in examples]))
        return spans, torch.zeros(len(spans), dtype=torch.long)
    rows, labels = [], []
    for example in examples:
        gold = example.gold[example.gold[:, 1] - example.gold[:, 0] <= wanted.max_width]
        most = wanted.negatives.most(len(gold))
        negative = sample_negatives(example.length, wanted.max_width, gold[:, :2], most, rng)
        rows.append(np.concatenate((gold[:, :2], negative)))
        labels.append(np.concatenate((gold[:, 2] + 1, np.zeros(len(negative), np.int64))))
    return torch.from_numpy(_packed(rows)), torch.from_numpy(np.concatenate(labels))


def given(examples: Sequence[Example], pad: int, prefix: int) -> Batch:
    """A batch whose candidates are the examples' own gold spans with their labels."""
    batch = collate(examples, pad, prefix, None)
    return replace(batch, spans=batch.gold[:, :3], span_labels=batch.gold[:, 3] + 1)


def _pairs(
    examples: Sequence[Example], spans: Tensor, wanted: Candidates | None, rng: np.random.Generator | None
) -> tuple[Tensor, Tensor]:
    """Gold pairs and sampled ones, as rows of `spans`, whose gold spans come first in every example."""
    if wanted is None or wanted.pairs is None or rng is None:
        return torch.zeros(0, 2, dtype=torch.long), torch.zeros(0, wanted.relations if wanted else 0)
    ends = torch.bincount(spans[:, 0], minlength=len(examples)).cumsum(0).tolist()
    rows, labels = [], []
    for example, first in zip(examples, [0, *ends], strict=False):
        fits = example.gold[:, 1] - example.gold[:, 0] <= wanted.max_width
        links = example.relations[fits[example.relations[:, 0]] & fits[example.relations[:, 1]]]
        place = np.cumsum(fits) - 1
        links = np.stack((place[links[:, 0]], place[links[:, 1]], links[:, 2]), axis=1) if len(links) else links
        pairs, types = sample_pairs(example.gold[fits, :2], links, wanted.relations, wanted.pairs.most, rng)
        rows.append(pairs + first)
        labels.append(types)
    return torch.from_numpy(np.concatenate(rows)), torch.from_numpy(np.concatenate(labels))


def label_pieces(pieces: WordPieces, limit: int, texts: Sequence[str]) -> LabelPieces:
    """Descriptions of labels, or their names, as word pieces with the special ones around them.

    One without any is refused, and one that takes more than half of the encoder's window: too little would be left.
    """
    rows = []
    for text in texts:
        own = [piece for word in pieces([text[start:end] for start, end in segment(text)]) for piece in word]
        rows.append(np.array([*pieces.prefix, *own, *pieces.suffix], np.int64))
        if not own:
            raise SchemaError("the description of a label is empty; write one for each.")
        if 2 * len(rows[-1]) > limit:
            raise SchemaError(f"the description {text[:40]!r}… has {len(own)} word pieces; shorten it to {limit // 3}.")
    lengths = np.array([len(row) for row in rows])[:, None]
    place = np.arange(lengths.max())
    content = (place >= len(pieces.prefix)) & (place < lengths - len(pieces.suffix))
    return LabelPieces(*map(torch.from_numpy, (_pad(rows, pieces.pad), place < lengths, content)))


def _pad(rows: Sequence[np.ndarray], value: int) -> np.ndarray:
    padded = np.full((len(rows), max(map(len, rows))), value, np.int64)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return padded


def _packed(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Rows of all examples under each other, each with its example's index before it."""
    index = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return np.concatenate((index[:, None], np.concatenate(rows)), axis=1)
