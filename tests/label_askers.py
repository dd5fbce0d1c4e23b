"""Models that take new labels, untrained, but with scores high enough to mark something."""

from __future__ import annotations

from typing import Any

import torch

from spanwise.pipeline.torch_pipeline import TorchPipeline


def emboldened(pipeline: TorchPipeline) -> TorchPipeline:
    """A pointer model whose starts and ends differ from word to word and from label to label, about half of all."""
    model: Any = pipeline.torch_runner.model
    with torch.no_grad():
        for layer in (model.start, model.end):
            layer.weight.mul_(8)
        model.start.bias.fill_(0.3)
        model.end.bias.fill_(1.5)
    return pipeline
