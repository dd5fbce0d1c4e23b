"""LoRA (Hu et al. 2022): small matrices beside the layers of a frozen encoder, through peft.

Training changes the adapter and the heads only, and a model folder stores only these. It names the encoder that they
belong to with a checksum of its weights. Models in one process can share that encoder; see `SharedEncoder`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor, nn

from spanwise.errors import EncoderError, shortened
from spanwise.pipeline.encoders import keep_layers, load_pretrained
from spanwise.recipe import EncoderConfig

if TYPE_CHECKING:
    from transformers import PreTrainedModel

LORA = ".lora_"  # in the name of a parameter of the adapter
WRAPPED = ".base_layer"  # in the name of a parameter of a layer that has an adapter


def check_peft() -> None:
    """Refuse an adapter where peft is not installed."""
    if find_spec("peft") is None:
        raise EncoderError("adapters need peft; run `pip install 'spanwise[adapters]'`, or leave encoder.adapter out.")


def add_adapter(transformer: PreTrainedModel, config: EncoderConfig) -> None:
    """Freeze the transformer and put a new adapter into it, unless it has one."""
    if has_adapter(transformer):
        return
    check_peft()
    from peft import LoraConfig, inject_adapter_in_model

    options = LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.lora_alpha,
        lora_dropout=config.lora_dropout,
        target_modules=list(config.lora_targets) or "all-linear",
    )
    try:
        inject_adapter_in_model(options, transformer)
    except ValueError:
        linear = sorted({name.rpartition(".")[2] for name, _ in _linear_layers(transformer)})
        raise EncoderError(
            f"encoder.lora_targets names {shortened(', '.join(config.lora_targets))}, but the layers of "
            f"{config.name!r} are called {', '.join(linear)}."
        ) from None
    for name, parameter in transformer.named_parameters():
        parameter.requires_grad_(LORA in name)


def has_adapter(transformer: nn.Module) -> bool:
    return any(LORA in name for name, _ in transformer.named_parameters())


def _linear_layers(transformer: nn.Module) -> Iterator[tuple[str, nn.Linear]]:
    return ((name, module) for name, module in transformer.named_modules() if isinstance(module, nn.Linear))


def base_parameters(transformer: nn.Module) -> dict[str, nn.Parameter]:
    """The pretrained parameters of a transformer with an adapter, by the names that they had without it."""
    found = transformer.named_parameters()
    return {name.replace(WRAPPED, ""): parameter for name, parameter in found if LORA not in name}


def base_checksum(transformer: nn.Module) -> str:
    """SHA-256 of the pretrained parameters, the same for every file format."""
    digest = hashlib.sha256()
    for name, parameter in sorted(base_parameters(transformer).items()):
        array: np.ndarray[Any, Any] = np.ascontiguousarray(parameter.detach().float().cpu().numpy(), "<f4")
        digest.update(f"{name} {list(array.shape)}\n".encode())
        digest.update(array.data)
    return digest.hexdigest()


def merged_transformer(transformer: PreTrainedModel) -> PreTrainedModel:
    """A copy in which the adapter is added to the weights; shared weights stay as they are."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    merged = deepcopy(transformer)
    adapted = [(name, module) for name, module in merged.named_modules() if isinstance(module, BaseTunerLayer)]
    for name, module in adapted:
        module.merge()
        merged.set_submodule(name, module.get_base_layer())
    merged.peft_config = {}
    return merged.requires_grad_(True)


@dataclass(frozen=True)
class SharedEncoder:
    """A pretrained encoder whose weights any number of models with adapters use at the same time.

    >>> encoder = SharedEncoder.load("minilm")
    >>> people = Extractor.from_pretrained("runs/people", encoder=encoder)
    >>> genes = Extractor.from_pretrained("runs/genes", encoder=encoder)
    """

    name: str
    transformer: PreTrainedModel

    @classmethod
    def load(cls, name: str = "minilm") -> SharedEncoder:
        """The encoder of this name, as `encoder.name` of a recipe."""
        transformer, _ = load_pretrained(name)
        return cls(name, transformer.eval().requires_grad_(False))

    def copy(self, layers: Sequence[int] | None = None) -> PreTrainedModel:
        """New modules around the same weights; with `layers`, only these layers."""
        weights: list[Tensor] = [*self.transformer.parameters(), *self.transformer.buffers()]
        copied = deepcopy(self.transformer, {id(tensor): tensor for tensor in weights})
        if layers is not None:
            keep_layers(copied, self.name, layers)
        return copied
