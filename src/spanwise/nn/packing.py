"""Convert packed rows (one per span or pair, each with its example's index) to padded blocks and back."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Packing:
    """Positions of N packed rows, grouped by example, in a padded block of L lines with S slots each.

    By default, S is the mean number of rows per example. An example with more rows takes several lines, so that the
    block is never much larger than the packed rows. `source` is the example of each line.
    """

    source: Tensor  # [L]
    line: Tensor  # [N]
    slot: Tensor  # [N]
    slots: int

    @classmethod
    def of(cls, example: Tensor, size: int, most: int | None = None) -> Packing:
        """example [N], of `size` examples; most: largest number of slots per line"""
        if torch.compiler.is_exporting():
            return cls._one_line_per_example(example, size)
        found, group, counts = example.unique_consecutive(return_inverse=True, return_counts=True)
        slots = -(-len(example) // max(len(found), 1))
        slots = slots if most is None else min(slots, most)
        place = torch.arange(len(example), device=example.device) - (counts.cumsum(0) - counts)[group]
        lines = (counts + slots - 1).div(max(slots, 1), rounding_mode="floor")  # lines per example
        line = (lines.cumsum(0) - lines)[group] + place.div(max(slots, 1), rounding_mode="floor")
        return cls(found.repeat_interleave(lines), line, place % max(slots, 1), slots)

    @classmethod
    def _one_line_per_example(cls, example: Tensor, size: int) -> Packing:
        """The packing of a graph, where the number of lines must follow from the shape of its inputs."""
        source = torch.arange(size, device=example.device)
        counts = (example.unsqueeze(0) == source.unsqueeze(1)).sum(-1)
        place = torch.arange(example.shape[0], device=example.device) - (counts.cumsum(0) - counts)[example]
        return cls(source, example, place, largest(counts))

    def pad(self, rows: Tensor) -> Tensor:
        """[N, …] -> [L, S, …], zeros in empty slots"""
        padded = rows.new_zeros(self.source.shape[0], self.slots, *rows.shape[1:])
        return padded.index_put((self.line, self.slot), rows)

    def pack(self, padded: Tensor) -> Tensor:
        """[L, S, …] -> [N, …]"""
        return padded[self.line, self.slot]


def largest(numbers: Tensor) -> int:
    """The largest of some positive numbers; in a graph, a size that is known when the graph runs, and at least 2."""
    if not torch.compiler.is_exporting():
        return int(numbers.max())
    found: int = numbers.max().clamp(min=2).item()  # type: ignore[assignment]
    torch._check(found >= 2)  # torch would have to know whether it is 1, which broadcasts
    torch._check(found <= 2**20)
    return found
