"""Stacks of linear layers with ReLU and dropout between them."""

from __future__ import annotations

from torch import nn


def feed_forward(given: int, hidden: int, wanted: int, *, layers: int, dropout: float) -> nn.Sequential:
    """`layers` linear maps from `given` over `hidden` to `wanted` units, with ReLU and dropout between them."""
    modules: list[nn.Module] = []
    for _ in range(layers - 1):
        modules += [nn.Linear(given, hidden), nn.ReLU(), nn.Dropout(dropout)]
        given = hidden
    return nn.Sequential(*modules, nn.Linear(given, wanted))
