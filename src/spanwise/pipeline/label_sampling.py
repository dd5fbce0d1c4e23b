"""The labels that a training batch asks for, and how they are worded: by name, by description, or by both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from spanwise.pipeline.collate import label_pieces, padded_label_texts
from spanwise.recipe import LabelSampling
from spanwise.schema import Schema
from spanwise.seam.batch import Array, Ints, LabelTexts
from spanwise.text.examples import Example
from spanwise.text.pieces import WordPieces


@dataclass(frozen=True)
class LabelSampler:
    """Samples labels and their texts for batches of one schema; each text is split into word pieces once."""

    options: LabelSampling
    pieces: WordPieces
    names: Sequence[Ints]
    descriptions: Sequence[Ints]  # a name where there is no description
    both: Sequence[Ints]

    @classmethod
    def of(cls, options: LabelSampling, pieces: WordPieces, limit: int, schema: Schema) -> Self:
        kinds = schema.entities
        texts = (
            [kind.plain_name for kind in kinds],
            [kind.description or kind.plain_name for kind in kinds],
            [f"{kind.plain_name}: {kind.description}" if kind.description else kind.plain_name for kind in kinds],
        )
        return cls(options, pieces, *(label_pieces(pieces, limit, each) for each in texts))

    def sample(self, examples: Sequence[Example], rng: np.random.Generator) -> tuple[list[Example], LabelTexts[Array]]:
        """The examples with the gold of the sampled labels, and the texts of these."""
        labels = self._labels(examples, rng)
        wording = self._wording(rng)
        texts = padded_label_texts(self.pieces, [wording[label] for label in labels])
        return [example.with_labels(labels) for example in examples], texts

    def _labels(self, examples: Sequence[Example], rng: np.random.Generator) -> Ints:
        """Labels with gold first, then others that an example was annotated for, at most `per_batch`; shuffled."""
        known = np.any([example.annotated for example in examples], axis=0)
        held = np.unique(np.concatenate([example.gold[:, 2] for example in examples]))
        others = np.setdiff1d(np.flatnonzero(known), held)
        chosen = np.concatenate((rng.permutation(held), rng.permutation(others)))[: self.options.per_batch]
        return rng.permutation(chosen)

    def _wording(self, rng: np.random.Generator) -> Sequence[Ints]:
        point = rng.random()
        if point < self.options.names:
            return self.names
        return self.descriptions if point < self.options.names + self.options.descriptions else self.both
