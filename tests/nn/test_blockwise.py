"""Computations in blocks: joined in order, as wide as they must be, and computed again only where that is asked for."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from spanwise.nn import blockwise as module
from spanwise.nn import label_blocks
from spanwise.nn.blockwise import blockwise
from spanwise.nn.label_blocks import blockwise_over_labels


@pytest.mark.parametrize("recompute", [False, True])
def test_blocks_are_joined_in_order_with_the_same_gradients(recompute: bool) -> None:
    numbers = torch.randn(7, 2, requires_grad=True)
    times = 0

    def squared(block: Tensor) -> Tensor:
        nonlocal times
        times += 1
        return block.square()

    found = blockwise(squared, ((block,) for block in numbers.split(3)), recompute=recompute)
    assert torch.equal(found, numbers.square())
    found.sum().backward()
    torch.testing.assert_close(numbers.grad, 2 * numbers)
    assert times == (6 if recompute else 3)  # three blocks, in the backward pass once more


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 40))
def test_labels_come_back_in_their_order_whatever_the_size_of_the_blocks(lengths: list[int], size: int) -> None:
    """Those of similar length are computed together."""
    rows, widths = torch.arange(len(lengths)), torch.tensor(lengths)
    blocks: list[list[int]] = []

    def compute(row: Tensor, width: Tensor) -> Tensor:
        blocks.append(width.tolist())
        return 10 * row + width

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_blocks, "BLOCK_SIZE", size)
        found = blockwise_over_labels(compute, (rows, widths), widths, 4, training=False)
    assert found.tolist() == [10 * row + width for row, width in enumerate(lengths)]
    assert [width for block in blocks for width in block] == sorted(lengths)
    assert all(len(block) <= max(1, size // 4) for block in blocks)


@pytest.mark.parametrize(("training", "above", "times"), [(True, 7, 2), (True, 8, 0), (False, 7, 0)])
def test_labels_are_recomputed_in_training_above_a_size(
    monkeypatch: pytest.MonkeyPatch, training: bool, above: int, times: int
) -> None:
    """Two labels of four numbers each."""
    calls: list[Any] = []
    checkpoint = module.checkpoint

    def counted(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        return checkpoint(*arguments, **options)

    monkeypatch.setattr(module, "checkpoint", counted)
    monkeypatch.setattr(label_blocks, "BLOCK_SIZE", 4)
    monkeypatch.setattr(label_blocks, "RECOMPUTE_ABOVE", above)
    blockwise_over_labels(torch.abs, (torch.randn(2, 4),), torch.tensor([1, 2]), 4, training=training)
    assert len(calls) == times
