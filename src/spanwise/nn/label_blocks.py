"""Computations for every pair of a word and a label, a few labels at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from spanwise.nn.blockwise import blockwise

BLOCK_SIZE = 2**21  # numbers that one block of labels computes
RECOMPUTE_ABOVE = 2**26  # numbers that training keeps for its backward pass; of more, they are computed again


def blockwise_over_labels(
    compute: Callable[..., Tensor], parts: Sequence[Tensor], lengths: Tensor, numbers: int, *, training: bool
) -> Tensor:
    """`compute(*parts)` for labels of similar length together, each block as wide as its longest text.

    parts [C, …] each; lengths [C]; `numbers` that one label computes -> [C, …], in the order of the labels
    """
    order = lengths.argsort()
    block_size = max(1, BLOCK_SIZE // max(numbers, 1))
    blocks = zip(*(part[order].split(block_size) for part in parts), strict=True)
    recompute = training and len(order) * numbers > RECOMPUTE_ABOVE
    return blockwise(compute, blocks, recompute=recompute)[order.argsort()]
