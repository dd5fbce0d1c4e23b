"""Long computations in blocks, which training may compute again in the backward pass instead of keeping them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVarTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

Block = TypeVarTuple("Block")


def blockwise(compute: Callable[[*Block], Tensor], blocks: Iterable[tuple[*Block]], *, recompute: bool) -> Tensor:
    """What `compute` gives for each block, joined along the first dimension."""
    parts = [checkpoint(compute, *block, use_reentrant=False) if recompute else compute(*block) for block in blocks]
    return torch.cat(parts)
