"""Packed rows (one per span or pair, each naming its example) to padded ones and back."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Packing:
    """Where N packed rows, grouped by example, stand in a padded block of [B, S]."""

    example: Tensor  # [N]
    slot: Tensor  # [N]
    size: int
    slots: int

    @classmethod
    def of(cls, example: Tensor, size: int) -> Packing:
        counts = torch.bincount(example, minlength=size)
        slot = torch.arange(len(example), device=example.device) - (counts.cumsum(0) - counts)[example]
        return cls(example, slot, size, int(counts.max()) if len(example) else 0)

    def pad(self, rows: Tensor) -> Tensor:
        """[N, …] -> [B, S, …], zeros in the gaps"""
        padded = rows.new_zeros(self.size, self.slots, *rows.shape[1:])
        return padded.index_put((self.example, self.slot), rows)

    def pack(self, padded: Tensor) -> Tensor:
        """[B, S, …] -> [N, …]"""
        return padded[self.example, self.slot]
