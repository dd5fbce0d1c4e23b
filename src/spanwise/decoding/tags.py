"""Entities from BIO tags: 0 is O, 1 + 2k begins an entity of type k, 2 + 2k is inside one.

An I- tag without its B- tag starts an entity. With a CRF, the Viterbi algorithm finds the best chain (BL-NER eq. 11).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spanwise.decoding.probabilities import scaled, softmax
from spanwise.seam.batch import Array, Batch, Bools, Floats, Ints
from spanwise.seam.decoder import Decoder, NoRows, PredictedSpans, Proposal, ScoreThresholds

A = TypeVar("A")
Doubles = NDArray[np.float64]


class TagScores(NamedTuple, Generic[A]):
    """Tag scores of every word, and the transitions of the CRF, which are empty without one."""

    emissions: A  # [B, T, C]
    transitions: A  # [C, C]   from row to column
    start: A  # [C]
    end: A  # [C]


@dataclass(frozen=True)
class TagDecoder(Decoder[TagScores[Floats], NoRows, NoRows]):
    """Predict the best tag of each word or, with a CRF, the best chain; runs of one type become entities."""

    kind: ClassVar[str] = "tags"
    first: ClassVar[type[tuple[object, ...]]] = TagScores

    crf: bool = False

    def propose(
        self,
        first: TagScores[Floats],
        batch: Batch[Array],
        thresholds: ScoreThresholds,
        given: PredictedSpans | None = None,
    ) -> Proposal[NoRows]:
        if given is not None:
            return Proposal(given)
        scored = batch.words.scored.astype(np.bool_)
        temperature = thresholds.temperature
        tags, probability = (
            best_chains(first, scored, temperature) if self.crf else best_tags(first.emissions, temperature)
        )
        return Proposal(combine_tags(np.where(scored, tags, 0), probability, thresholds.entities))


def best_tags(emissions: Floats, temperature: float = 1.0) -> tuple[Ints, Floats]:
    """Each word's best tag and its probability, which is set to 1 for O. [B, T, C] -> [B, T] each"""
    tags = emissions.argmax(-1)
    probability = np.ones(tags.shape, np.float32)
    entity = tags > 0
    probability[entity] = softmax(scaled(emissions[entity], temperature)).max(-1, initial=0.0)
    return tags, probability


def best_chains(scores: TagScores[Floats], scored: Bools, temperature: float = 1.0) -> tuple[Ints, Floats]:
    """The best chain over the scored words of each example, and the marginal probabilities of its tags."""
    shift = scored.argmax(1)[:, None]  # context words come before the chain
    length = scored.shape[1]
    place = np.minimum(np.arange(length) + shift, length - 1)
    chain = Chain(
        np.take_along_axis(scores.emissions, place[..., None], axis=1).astype(np.float64),
        np.arange(length) < scored.sum(1)[:, None],
        *(part.astype(np.float64) for part in scores[1:]),
    )
    tags = chain.viterbi()
    probability = np.take_along_axis(chain.divided(temperature).marginals(), tags[..., None], axis=-1)[..., 0]
    back = np.maximum(np.arange(length) - shift, 0)
    return np.take_along_axis(tags, back, axis=1), np.take_along_axis(probability, back, axis=1).astype(np.float32)


@dataclass(frozen=True)
class Chain:
    """Linear chains of tags; the mask is false after the end of a chain."""

    emissions: Doubles  # [B, T, C]
    mask: Bools  # [B, T]
    transitions: Doubles  # [C, C]
    start: Doubles  # [C]
    end: Doubles  # [C]

    def divided(self, temperature: float) -> Chain:
        """The same chains with all scores divided by the temperature, which leaves the best chain the best."""
        parts = (self.transitions, self.start, self.end)
        return Chain(self.emissions / temperature, self.mask, *(part / temperature for part in parts))

    def viterbi(self) -> Ints:
        """BL-NER eq. 11: the best chain. -> [B, T]; values after a chain's end have no meaning."""
        score = self.start + self.emissions[:, 0]
        origins = []
        for t in range(1, self.emissions.shape[1]):
            reached = score[:, :, None] + self.transitions  # [B, C, C]
            inside = self.mask[:, t, None]
            origins.append(np.where(inside, reached.argmax(1), np.arange(score.shape[-1])))
            score = np.where(inside, reached.max(1) + self.emissions[:, t], score)
        tag = (score + self.end).argmax(-1)
        chain = [tag]
        for origin in reversed(origins):
            tag = np.take_along_axis(origin, tag[:, None], axis=1)[:, 0]
            chain.append(tag)
        return np.stack(chain[::-1], axis=1)

    def marginals(self) -> Doubles:
        """The probability of each tag at each word, by forward and backward sums. -> [B, T, C]"""
        forward, backward = self._forward(), self._backward()
        total = forward + backward
        powers = np.exp(total - total.max(-1, keepdims=True))
        found: Doubles = powers / powers.sum(-1, keepdims=True)
        return found

    def _forward(self) -> Doubles:
        """Log of the summed weight of all chains that end in each tag. -> [B, T, C]"""
        steps = [self.start + self.emissions[:, 0]]
        for t in range(1, self.emissions.shape[1]):
            moved = _log_product(steps[-1], self.transitions) + self.emissions[:, t]
            steps.append(np.where(self.mask[:, t, None], moved, steps[-1]))
        return np.stack(steps, axis=1)

    def _backward(self) -> Doubles:
        steps = [np.broadcast_to(self.end, self.emissions[:, 0].shape)]
        for t in range(self.emissions.shape[1] - 1, 0, -1):
            moved = _log_product(self.emissions[:, t] + steps[-1], self.transitions.T)
            steps.append(np.where(self.mask[:, t, None], moved, steps[-1]))
        return np.stack(steps[::-1], axis=1)


def _log_product(vectors: Doubles, matrix: Doubles) -> Doubles:
    """log(exp(v)·exp(M)) for rows of [B, C] and columns of [C, C], without overflow."""
    terms = vectors[:, :, None] + matrix  # [B, C, C]
    highest = terms.max(1)
    found: Doubles = highest + np.log(np.exp(terms - highest[:, None]).sum(1))
    return found


def combine_tags(tags: Ints, probability: Floats, thresholds: Floats) -> PredictedSpans:
    """The label combiner: runs of tags of one type become spans, scored by the lowest probability of their tags."""
    tags = np.pad(tags, ((0, 0), (1, 1)))  # an O before and after every sentence
    probability = np.pad(probability, ((0, 0), (1, 1)), constant_values=1.0)
    kind = (tags - 1) // 2  # type of each tag; O is -1
    inside = (tags > 0) & (tags % 2 == 0)
    continues = np.zeros_like(inside)
    continues[:, 1:] = inside[:, 1:] & (kind[:, 1:] == kind[:, :-1])
    begins = np.flatnonzero((tags > 0) & ~continues)
    if not len(begins):
        return PredictedSpans.empty()
    stops = np.flatnonzero(~continues)
    ends = stops[np.searchsorted(stops, begins, side="right")]
    borders = np.stack((begins, ends), axis=1).ravel()
    scores = np.minimum.reduceat(probability.ravel(), borders)[::2]
    row, start = np.divmod(begins, tags.shape[1])
    spans = np.stack((row, start - 1, ends - row * tags.shape[1] - 1), axis=1)
    labels = kind.ravel()[begins]
    kept = scores >= thresholds[labels]
    return PredictedSpans(spans[kept], labels[kept], scores[kept])
