"""How uncertain a model is about the words or spans of each example, from the scores that its decoder reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spanwise.decoding.pointers import PointerScores
from spanwise.decoding.probabilities import sigmoid, softmax
from spanwise.decoding.spans import SpanRows, SpanScores
from spanwise.decoding.tags import TagScores
from spanwise.errors import InputError
from spanwise.seam.batch import Array, Batch, Floats, Ints

Doubles = NDArray[np.float64]
Measure = Literal["entropy", "margin"]
Scores = tuple[object, ...]
TINY = 1e-12


class Decisions(NamedTuple):
    """N independent decisions of a model, each about one word or one span."""

    example: Ints  # [N]   the example that it belongs to
    probability: Floats  # [N, C]   of each choice; rows sum to 1


def decisions(
    first: Scores, second: Sequence[tuple[Scores, Scores]], batch: Batch[Array], *, multi_label: bool
) -> Decisions:
    """The decisions about entities. Those of a CRF are read from its scores of single words."""
    for rows, scores in ((None, first), *second):
        if isinstance(scores, SpanScores):
            spans = rows.spans if isinstance(rows, SpanRows) else batch.proposals.spans
            return _of_spans(spans[:, 0].astype(np.int64), scores.logits, multi_label)
    if isinstance(first, TagScores):
        return _of_words(softmax(first.emissions), batch)
    if isinstance(first, PointerScores):
        starts, ends = (sigmoid(logits) for logits in (first.start, first.end))
        return _of_words(np.stack((starts, ends), axis=-1), batch, binary=True)
    raise InputError(f"the uncertainty of {type(first).__name__} is unknown; choose --by committee.")


def _of_spans(example: Ints, logits: Floats, multi_label: bool) -> Decisions:
    """logits [N, 1 + E] with None first, or [N, E] of labels that do not exclude each other"""
    if not multi_label:
        return Decisions(example, softmax(logits))
    return Decisions(np.repeat(example, logits.shape[1]), _binary(sigmoid(logits)))


def _of_words(probability: Floats, batch: Batch[Array], *, binary: bool = False) -> Decisions:
    """probability [B, T, C], of one choice among C, or of C choices between yes and no if `binary`"""
    example, word = np.nonzero(batch.words.scored)
    chosen = probability[example, word]  # [N, …]
    if not binary:
        return Decisions(example, chosen)
    flat = chosen.reshape(len(chosen), -1)
    return Decisions(np.repeat(example, flat.shape[1]), _binary(flat))


def _binary(probability: Floats) -> Floats:
    """[N, C] -> [N · C, 2]"""
    yes = probability.reshape(-1)
    return np.stack((1 - yes, yes), axis=1)


def uncertainty(found: Decisions, measure: Measure, size: int) -> Doubles:
    """One number per example. `entropy`: the sum over its decisions, in nats. `margin`: how close its closest decision
    is, 1 minus the difference between the two most probable choices. -> [B]"""
    values = np.zeros(size)
    if measure == "entropy":
        np.add.at(values, found.example, entropy(found.probability))
        return values
    best = np.sort(found.probability, axis=1)[:, -2:]
    closeness = 1 - (best[:, -1] - best[:, 0]) if best.shape[1] > 1 else np.zeros(len(best))
    np.maximum.at(values, found.example, closeness)
    return values


def entropy(probability: Floats) -> Doubles:
    """[N, C] -> [N], in nats"""
    values: Doubles = -(probability * np.log(np.maximum(probability, TINY))).sum(-1)
    return values
