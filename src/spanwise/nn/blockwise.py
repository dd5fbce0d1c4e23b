"""Large computations in blocks, which training can recompute in the backward pass to save memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVarTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

Block = TypeVarTuple("Block")


def blockwise(compute: Callable[[*Block], Tensor], blocks: Iterable[tuple[*Block]], *, recompute: bool) -> Tensor:
    """Apply `compute` to each block and concatenate the results along the first dimension."""
    parts = [checkpoint(compute, *block, use_reentrant=False) if recompute else compute(*block) for block in blocks]
    return torch.cat(parts)
