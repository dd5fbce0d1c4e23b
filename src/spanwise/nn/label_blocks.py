"""Computations for every pair of a word and a label, in blocks of labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from spanwise.nn.blockwise import blockwise

BLOCK_SIZE = 2**21  # values computed per block of labels
RECOMPUTE_ABOVE = 2**26  # above this number of values, training recomputes them in the backward pass


def blockwise_over_labels(
    compute: Callable[..., Tensor], parts: Sequence[Tensor], lengths: Tensor, numbers: int, *, training: bool
) -> Tensor:
    """Apply `compute` to blocks of labels with texts of similar length, so that it can trim each block's padding.

    parts [C, …] each; lengths [C]; numbers: values computed per label -> [C, …], in the order of the labels
    """
    if torch.compiler.is_exporting():
        return compute(*parts)
    order = lengths.argsort()
    block_size = max(1, BLOCK_SIZE // max(numbers, 1))
    blocks = zip(*(part[order].split(block_size) for part in parts), strict=True)
    recompute = training and len(order) * numbers > RECOMPUTE_ABOVE
    return blockwise(compute, blocks, recompute=recompute)[order.argsort()]
