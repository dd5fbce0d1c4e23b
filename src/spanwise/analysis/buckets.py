"""Groups of entities by an attribute (BL-NER, section 4.3.1, eqs. 21 to 23; DSpERT, 4.4 and 4.5; STSN, 4.3).

Gold entities are grouped by their own attribute values, and so are predictions: a wrong prediction lowers the precision
of the group that it resembles. Length and label consistency belong to the entity, by its own bounds and label. Sentence
length, entity density and out-of-vocabulary density belong to its sentence and are the same for gold and predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from spanwise.analysis.arrays import Entities, Floats, Integers, Texts, overlapping
from spanwise.metrics.structure import MAX_GROUPED_WIDTH

SIZES = ("XS", "S", "L", "XL")
QUANTILES = (0.25, 0.5, 0.75)
Values = Integers | Floats


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute and the largest value of each of its buckets but the last, which has no end.

    Without `edges`, the buckets are quantiles of the gold values.
    """

    key: str
    title: str
    edges: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    whole: bool = True  # whether the values are whole numbers
    low: int = 0  # the smallest possible value


# Table 5 of BL-NER; the paper has no buckets for out-of-vocabulary density.
ENTITY_LENGTH = Attribute("entity_length", "entity length (words)", (1, 2, 4), SIZES, low=1)
SENTENCE_LENGTH = Attribute("sentence_length", "sentence length (words)", (7, 16, 31), SIZES, low=1)
LABEL_CONSISTENCY = Attribute("label_consistency", "label consistency in train", (0.1, 0.5, 0.9), SIZES, whole=False)
ENTITY_DENSITY = Attribute("entity_density", "entities per word", (0.01, 0.025, 0.05), SIZES, whole=False)
OOV_DENSITY = Attribute("oov_density", "share of words that are not in train", whole=False)
# DSpERT, Figure 2; STSN, Figures 5 and 6.
SPAN_LENGTH = Attribute("span_length", "span length (words)", tuple(range(1, MAX_GROUPED_WIDTH + 1)), low=1)
GROUPED_ENTITY_LENGTH = Attribute("grouped_entity_length", "entity length (words), as in STSN", (2, 4, 6, 8, 10), low=1)
GROUPED_SENTENCE_LENGTH = Attribute("grouped_sentence_length", "sentence length (words), as in STSN", (19, 34, 49))
# Words between the arguments of a relation.
DISTANCE = Attribute("distance", "words between the arguments", (0, 3, 7, 15))


@dataclass(frozen=True, slots=True)
class Buckets:
    """Named intervals of an attribute's values."""

    attribute: Attribute
    edges: tuple[float, ...]
    names: tuple[str, ...]

    def place(self, values: Values) -> Integers:
        """The bucket of each value."""
        return np.searchsorted(np.asarray(self.edges, np.float64), values, side="left")


def make_buckets(attribute: Attribute, gold: Values, *, quantiles: bool = False) -> Buckets:
    """The paper's buckets or, on request or if there are none, the quartiles of the gold values."""
    if attribute.edges and not quantiles:
        return Buckets(attribute, attribute.edges, _names(attribute, attribute.edges, attribute.low, attribute.names))
    edges = np.unique(np.quantile(gold, QUANTILES, method="inverted_cdf")) if len(gold) else np.zeros(0)
    kept = tuple(float(edge) for edge in edges[edges < gold.max(initial=0)])
    return Buckets(attribute, kept, _names(attribute, kept, attribute.low))


def _names(attribute: Attribute, edges: Sequence[float], low: float, sizes: Sequence[str] = ()) -> tuple[str, ...]:
    ranges = _whole_ranges(edges, int(low)) if attribute.whole else _ranges(edges, low)
    return tuple(f"{size} {name}".strip() for size, name in zip(sizes or [""] * len(ranges), ranges, strict=True))


def _whole_ranges(edges: Sequence[float], low: int) -> list[str]:
    """1, 2, 3–4, 5+"""
    starts = [low, *(int(edge) + 1 for edge in edges)]
    bounded = [f"{a}" if a == int(b) else f"{a}–{int(b)}" for a, b in zip(starts, edges, strict=False)]
    return [*bounded, f"{starts[-1]}+"]


def _ranges(edges: Sequence[float], low: float) -> list[str]:
    """[0, 0.1], (0.1, 0.5], (0.5, 0.9], > 0.9"""
    if not edges:
        return ["all"]
    shown = [f"{edge:.3g}" for edge in edges]
    first = f"[{low:.3g}, {shown[0]}]" if low < edges[0] else shown[0]
    return [first, *(f"({a}, {b}]" for a, b in pairwise(shown)), f"> {shown[-1]}"]


def nesting(gold: Entities, entities: Entities) -> Integers:
    """The nesting of each entity relative to gold, as an index into NESTING; defined as in `score_by_nesting`."""
    inner, outer = _contained(gold, gold)
    has_inner, has_outer = np.unique(outer), np.unique(inner)
    nested = np.zeros(len(entities), bool)
    covering = np.zeros(len(entities), bool)
    nested[_contained(entities, gold.take(has_inner))[0]] = True
    covering[_contained(gold.take(has_outer), entities)[1]] = True
    groups: Integers = nested + 2 * covering
    return groups


def _contained(inner: Entities, outer: Entities) -> tuple[Integers, Integers]:
    """The indices of all pairs of an entity and another entity that contains it; equal bounds do not count."""
    one, two = overlapping(inner.start, inner.end, outer.start, outer.end)
    inside = (outer.start[two] <= inner.start[one]) & (inner.end[one] <= outer.end[two])
    wider = (outer.end[two] - outer.start[two]) > (inner.end[one] - inner.start[one])
    return one[inside & wider], two[inside & wider]


def entity_density(texts: Texts, gold: Entities) -> Floats:
    """eq. 23d: the gold entities of each sentence / its words."""
    lengths = texts.sentence_lengths
    return np.bincount(gold.sentence, minlength=len(lengths)) / np.maximum(lengths, 1)
