"""Weights as their difference to the default encoder: matrices in low rank, all in half precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from spanwise.errors import ModelError
from spanwise.pipeline.encoders import MINILM_SHA256, minilm_folder

COMPACT = "compact"  # key of the config: the rank, and the checksum of the encoder's weights
PREFIX = "encoder.transformer."  # of the encoder's parameters
DOWN, UP, SHIFT = ".down", ".up", ".shift"  # ends of the names: factors of a matrix, difference of a vector


def describe(rank: int) -> dict[str, Any]:
    """What the config says of compact weights."""
    return {"rank": rank, "encoder": MINILM_SHA256}


def base_weights(described: object) -> dict[str, Tensor]:
    """The parameters of the default encoder, by their names in a model."""
    if not isinstance(described, dict) or described.get("encoder") != MINILM_SHA256:
        raise ModelError("the weights are a difference to another encoder than the installed default; train it again.")
    weights = load_file(minilm_folder() / "model.safetensors")
    return {PREFIX + name: value.float() for name, value in weights.items() if value.is_floating_point()}


def compressed(weights: Mapping[str, Tensor], base: Mapping[str, Tensor], rank: int) -> dict[str, Tensor]:
    """The weights as differences to the base; what does not differ is left out, and what is not in it stays whole."""
    stored: dict[str, Tensor] = {}
    for name, value in weights.items():
        change = value - base[name] if name in base else None
        if change is None:
            stored[name] = value
        elif change.ndim == 2 and change.any():
            left, size, right = torch.linalg.svd(change, full_matrices=False)
            root = size[:rank].sqrt()
            stored[name + UP], stored[name + DOWN] = left[:, :rank] * root, root.unsqueeze(1) * right[:rank]
        elif change.any():
            stored[name + SHIFT] = change
    return {name: value.half().contiguous() for name, value in stored.items()}


def restored(stored: Mapping[str, Tensor], base: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights that `compressed` stored, up to its rank and precision."""
    weights = {name: value.clone() for name, value in base.items()}
    for name, value in stored.items():
        if name.endswith(DOWN):
            place = name.removesuffix(DOWN)
            weights[place] = weights[place] + stored[place + UP].float() @ value.float()
        elif name.endswith(SHIFT):
            place = name.removesuffix(SHIFT)
            weights[place] = weights[place] + value.float()
        elif not name.endswith(UP):
            weights[name] = value.float()
    return weights
