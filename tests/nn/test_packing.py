"""Packed rows to padded ones and back."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from spanwise.nn.packing import Packing


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_rows_come_back_as_they_were_and_gaps_are_zeros(counts: list[int]) -> None:
    example = torch.tensor([row for row, count in enumerate(counts) for _ in range(count)], dtype=torch.long)
    packing = Packing.of(example, len(counts))
    rows = 1 + torch.rand(len(example), 2)
    padded = packing.pad(rows)
    assert padded.shape == (len(counts), max(counts), 2)
    assert [int((row[:, 0] > 0).sum()) for row in padded] == counts
    assert all((row[count:] == 0).all() for row, count in zip(padded, counts, strict=True))
    assert torch.equal(packing.pack(padded), rows)


def test_masks_are_packed_as_well() -> None:
    packing = Packing.of(torch.tensor([0, 2, 2]), 3)
    mask = torch.tensor([True, True, False])
    assert packing.pad(mask).tolist() == [[True, False], [False, False], [True, False]]
