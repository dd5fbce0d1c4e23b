"""Batches of a pipeline's examples as tensors, for tests that look inside a model, and its predictions for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from spanwise.document import Document
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.seam.batch import Array, Batch
from spanwise.seam.decoder import Prediction, ScoreThresholds
from spanwise.seam.runner import run_stages
from spanwise.text.alignment import align
from spanwise.text.examples import Example


def gold_examples(pipeline: TorchPipeline, documents: Sequence[Document]) -> list[Example]:
    """The examples that the pipeline is trained on, all documents' in one list."""
    builder = pipeline.training_task.builder
    return [example for document in documents for example in builder.gold_examples(align(document))[0]]


def batch_of(
    pipeline: TorchPipeline, documents: Sequence[Document], rng: np.random.Generator | None = None
) -> Batch[Tensor]:
    """All documents in one padded batch with their gold; with `rng` candidates are those of training."""
    return pipeline.training_batch(gold_examples(pipeline, documents), rng).map(torch.from_numpy)


def arrays(batch: Batch[Tensor]) -> Batch[Array]:
    return batch.map(lambda tensor: tensor.numpy())


def predictions(pipeline: TorchPipeline, batch: Batch[Tensor], thresholds: ScoreThresholds) -> list[Prediction]:
    """What the pipeline's model predicts for each example of a batch."""
    return run_stages(pipeline.runner, pipeline.reader.decoder, arrays(batch), thresholds)


def at_least(*entities: float, relations: Sequence[float] = ()) -> ScoreThresholds:
    return ScoreThresholds(np.array(entities, np.float32), np.array(relations, np.float32))
