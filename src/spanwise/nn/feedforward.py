"""Stacks of linear layers with ReLU and dropout between them."""

from __future__ import annotations

from torch import nn


def feed_forward(given: int, hidden: int, wanted: int, *, layers: int, dropout: float) -> nn.Sequential:
    """`layers` linear layers from `given` via `hidden` to `wanted` units, with ReLU and dropout between them.

    He and Glorot initialization keep the scale of the activations (He et al. 2015, Glorot and Bengio 2010). PyTorch's
    default would shrink them at every layer, and with them the gradient that reaches the encoder.
    """
    modules: list[nn.Module] = []
    for _ in range(layers - 1):
        modules += [nn.Linear(given, hidden), nn.ReLU(), nn.Dropout(dropout)]
        given = hidden
    modules.append(nn.Linear(given, wanted))
    linear = [module for module in modules if isinstance(module, nn.Linear)]
    for layer in linear:
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        nn.init.zeros_(layer.bias)
    nn.init.xavier_normal_(linear[-1].weight)  # no ReLU follows
    return nn.Sequential(*modules)
