"""Which tensors of a model are stored."""

from __future__ import annotations

from torch import Tensor, nn

from spanwise.pipeline.adapters import base_parameters, has_adapter
from spanwise.seam.module import Trainable


def stored_tensors(model: Trainable) -> dict[str, Tensor]:
    """What a model folder and a checkpoint hold, each under one name; of an encoder with an adapter, the adapter."""
    return {**stored_parameters(model), **persistent_buffers(model)}


def stored_parameters(model: Trainable) -> dict[str, nn.Parameter]:
    """The parameters among them."""
    base = _base(model)
    return {name: value for name, value in model.named_parameters() if id(value) not in base}


def persistent_buffers(model: Trainable) -> dict[str, Tensor]:
    """What is neither learned nor made from the options, such as running means; each under one name."""
    kept, base = model.state_dict().keys(), _base(model)
    return {name: value for name, value in model.named_buffers() if name in kept and id(value) not in base}


def _base(model: Trainable) -> set[int]:
    """The tensors of an encoder with an adapter, which the folder of that encoder holds."""
    transformer = model.encoder.transformer
    if not has_adapter(transformer):
        return set()
    return {id(tensor) for tensor in (*base_parameters(transformer).values(), *transformer.buffers())}
