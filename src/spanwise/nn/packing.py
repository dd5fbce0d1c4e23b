"""Packed rows (one per span or pair, each naming its example) to padded ones and back."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Packing:
    """Where N packed rows, grouped by example, stand in a padded block of [L, S].

    An example with more rows than a line has, by default their mean, takes several lines of the block, so that the
    block is never much larger than what is packed in it; `source` is the example of each line.
    """

    source: Tensor  # [L]
    line: Tensor  # [N]
    slot: Tensor  # [N]
    slots: int

    @classmethod
    def of(cls, example: Tensor, most: int | None = None) -> Packing:
        """example [N]; most: the longest that a line may be"""
        found, group, counts = example.unique_consecutive(return_inverse=True, return_counts=True)
        slots = -(-len(example) // max(len(found), 1))
        slots = slots if most is None else min(slots, most)
        place = torch.arange(len(example), device=example.device) - (counts.cumsum(0) - counts)[group]
        lines = (counts + slots - 1).div(max(slots, 1), rounding_mode="floor")  # of each example
        line = (lines.cumsum(0) - lines)[group] + place.div(max(slots, 1), rounding_mode="floor")
        return cls(found.repeat_interleave(lines), line, place % max(slots, 1), slots)

    def pad(self, rows: Tensor) -> Tensor:
        """[N, …] -> [L, S, …], zeros in the gaps"""
        padded = rows.new_zeros(len(self.source), self.slots, *rows.shape[1:])
        return padded.index_put((self.line, self.slot), rows)

    def pack(self, padded: Tensor) -> Tensor:
        """[L, S, …] -> [N, …]"""
        return padded[self.line, self.slot]
