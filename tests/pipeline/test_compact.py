"""Weights stored as a difference to the default encoder."""

from __future__ import annotations

import torch

from spanwise.pipeline.compact import PREFIX, compressed, restored

NAMES = {"matrix": (12, 20), "frozen": (9, 6), "vector": (7,)}


def drawn(seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {PREFIX + name: torch.randn(shape, generator=generator) for name, shape in NAMES.items()}


def test_weights_come_back_up_to_their_rank_and_precision() -> None:
    base, change = drawn(1), drawn(2)
    matrix, frozen, vector = (PREFIX + name for name in NAMES)
    low = torch.outer(change[vector].repeat(2)[:12], torch.arange(20) / 20)  # a change of rank one
    weights = {matrix: base[matrix] + low, frozen: base[frozen], vector: change[vector], "head.weight": torch.eye(3)}
    stored = compressed(weights, base, 1)
    assert not any(name.startswith(frozen) for name in stored)
    assert sum(value.numel() for value in stored.values()) == 12 + 20 + 7 + 9
    assert all(value.dtype == torch.float16 for value in stored.values())
    for name, value in restored(stored, base).items():
        torch.testing.assert_close(value, weights[name], atol=5e-3, rtol=5e-3)


def test_a_higher_rank_comes_nearer() -> None:
    base, weights = drawn(1), drawn(2)
    name = PREFIX + "matrix"
    found = [restored(compressed(weights, base, rank), base)[name] for rank in (1, 4, 12)]
    errors = [float((value - weights[name]).norm()) for value in found]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01 * float(weights[name].norm())
