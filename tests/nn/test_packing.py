"""Packed rows to padded ones and back."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from spanwise.nn.packing import Packing


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6))
def test_rows_come_back_as_they_were_in_lines_of_their_own_example(counts: list[int]) -> None:
    example = torch.tensor([row for row, count in enumerate(counts) for _ in range(count)], dtype=torch.long)
    packing = Packing.of(example, 9)
    rows = 1 + torch.rand(len(example), 2)
    padded = packing.pad(rows)
    assert torch.equal(packing.pack(padded), rows)
    assert torch.equal(packing.source[packing.line], example)
    assert int((padded[..., 0] > 0).sum()) == len(example)  # the gaps are zeros
    assert padded.shape[0] * padded.shape[1] <= 2 * len(example) + len(counts)


def test_masks_are_packed_as_well() -> None:
    packing = Packing.of(torch.tensor([0, 2, 2]), 3)
    mask = torch.tensor([True, True, False])
    assert packing.source.tolist() == [0, 2]
    assert packing.pad(mask).tolist() == [[True, False], [True, False]]
