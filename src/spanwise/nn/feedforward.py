"""Stacks of linear layers with ReLU and dropout between them."""

from __future__ import annotations

from torch import nn


def feed_forward(inner: int, hidden: int, outer: int, *, layers: int, dropout: float) -> nn.Sequential:
    """`layers` linear maps from `inner` over `hidden` to `outer` units; none after the last."""
    modules: list[nn.Module] = []
    for _ in range(layers - 1):
        modules += [nn.Linear(inner, hidden), nn.ReLU(), nn.Dropout(dropout)]
        inner = hidden
    return nn.Sequential(*modules, nn.Linear(inner, outer))
