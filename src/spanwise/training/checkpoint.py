"""Where training stands, in one safetensors file: parameters, optimizer state and a few numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch.optim import Optimizer

from spanwise.errors import ModelError
from spanwise.files import atomic_file
from spanwise.pipeline.weights import persistent_buffers, stored_parameters
from spanwise.renamed import LOSSES, stored_name
from spanwise.seam.module import Trainable

MOMENTS = ("exp_avg", "exp_avg_sq", "step")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come. No random state is needed: every step is seeded by its number."""

    epoch: int = 0  # the epoch to go on with
    batch: int = 0  # the batches of that epoch that are done
    step: int = 0  # optimizer steps done
    losses: Mapping[str, float] = field(default_factory=dict)  # summed over the batches of that epoch
    best_f1: float = -1.0
    best_epoch: int = 0
    seconds: float = 0.0
    data: int = 0  # marks the training data


def save_checkpoint(path: Path, model: Trainable, optimizer: Optimizer, progress: Progress) -> None:
    tensors = {f"buffer.{name}": value for name, value in persistent_buffers(model).items()}
    for name, parameter in stored_parameters(model).items():
        tensors[f"parameter.{name}"] = parameter.detach()
        for moment, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{moment}.{name}"] = value
    with atomic_file(path) as draft:
        save_file(tensors, draft, metadata={"progress": json.dumps(asdict(progress))})


def load_checkpoint(path: Path, model: Trainable, optimizer: Optimizer) -> Progress:
    """Put model and optimizer back to where the checkpoint was written."""
    try:
        with safe_open(path, framework="pt") as file, torch.no_grad():
            stored = set(file.keys())
            parameters = {name.removeprefix("parameter.") for name in stored if name.startswith("parameter.")}
            for name, parameter in stored_parameters(model).items():
                source = stored_name(name, parameters)
                parameter.copy_(file.get_tensor(f"parameter.{source}"))
                if f"step.{source}" in stored:
                    optimizer.state[parameter] = _moments(file, source, parameter.device)
            for name, buffer in persistent_buffers(model).items():
                buffer.copy_(file.get_tensor(f"buffer.{name}"))
            progress = Progress(**json.loads(file.metadata()["progress"]))
            return replace(progress, losses={LOSSES.get(name, name): loss for name, loss in progress.losses.items()})
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelError(f"{path}: this checkpoint cannot be used ({error}); delete it to start over.") from None


def _moments(file: Any, name: str, device: torch.device) -> dict[str, torch.Tensor]:
    """AdamW's state of one parameter, where the parameter is."""
    return {moment: file.get_tensor(f"{moment}.{name}").to(device) for moment in MOMENTS}
