"""AdamW in parameter groups, and the learning rate over time."""

from __future__ import annotations

import torch
from torch import nn
from torch.optim import AdamW

from spanwise.recipe import TrainSection
from spanwise.seam.module import Trainable


def optimizer_for(model: Trainable, options: TrainSection) -> AdamW:
    """What was pretrained learns at `encoder_lr`, the rest at `task_lr`; biases and norms do not decay."""
    pretrained = {id(p) for p in model.pretrained}
    still = _without_decay(model)
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for parameter in model.parameters():
        if parameter.requires_grad:
            rate = options.encoder_lr if id(parameter) in pretrained else options.task_lr
            decay = 0.0 if id(parameter) in still else options.weight_decay
            groups.setdefault((rate, decay), []).append(parameter)
    described = [
        {"params": parameters, "lr": rate, "peak_lr": rate, "weight_decay": decay}
        for (rate, decay), parameters in groups.items()
    ]
    return AdamW(described, fused=True)


def _without_decay(model: nn.Module) -> set[int]:
    """Biases and everything that belongs to a normalization layer."""
    still = {id(p) for name, p in model.named_parameters() if name.endswith("bias")}
    for module in model.modules():
        if "norm" in type(module).__name__.lower():
            still.update(id(p) for p in module.parameters(recurse=False))
    return still


def set_learning_rate(
    optimizer: torch.optim.Optimizer, step: int, total: int, warmup: float, final: float = 0.0
) -> None:
    """Linear warm-up over the first share of the steps, then linear decay to the share `final` of the peak."""
    rising = max(1, round(total * warmup))
    remaining = max(0.0, (total - step) / max(1, total - rising))
    factor = (step + 1) / rising if step < rising else final + (1 - final) * remaining
    for group in optimizer.param_groups:
        group["lr"] = group["peak_lr"] * min(1.0, factor)
