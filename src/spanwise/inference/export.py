"""A model as ONNX graphs, one per stage, for batches of any shape."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.document import Document
from spanwise.errors import ModelError
from spanwise.nn.pooling import MAX_EXPORT_LENGTH
from spanwise.pipeline.collate import collate
from spanwise.pipeline.onnx_runner import FORWARD, RESCORE, ROWS, SPANS, WORDS
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.seam.batch import Array, Batch, Proposals, Words
from spanwise.seam.decoder import PredictedSpans
from spanwise.seam.module import SpanModel, Tensors
from spanwise.seam.runner import Arrays

SAMPLES = (Document("Somebody met somebody else in a town ."), Document("It rained in another one"))


class ForwardGraph(nn.Module):
    """Words and candidates in; scores, then features out."""

    def __init__(self, model: SpanModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, *arrays: Tensor) -> tuple[Tensor, ...]:
        *words, spans = arrays
        none = spans.new_zeros(0, 2)
        proposals = Proposals(spans, spans[:, :0].bool(), none, none[:, :0].float())
        output = self.model(Batch(words[0].shape[0], Words(*words), proposals))
        return (*output.scores, *output.features)


class RescoreGraph(nn.Module):
    """Features and rows in; scores of the rows out."""

    def __init__(self, model: SpanModel, features: Tensors, rows: Arrays) -> None:
        super().__init__()
        self.model, self.features, self.rows = model, type(features), type(rows)
        self.number = len(features)

    def forward(self, *arrays: Tensor) -> tuple[Tensor, ...]:
        features, rows = self.features(*arrays[: self.number]), self.rows(*arrays[self.number :])
        return tuple(self.model.rescore(features, rows))


def export_graphs(pipeline: TorchPipeline, folder: Path) -> None:
    """Write a graph for each stage of the model that reads out."""
    if pipeline.task.labels is not None:
        raise ModelError(f"{pipeline.reader.name} needs label texts, which cannot be exported yet.")
    if pipeline.windows.limit > MAX_EXPORT_LENGTH:
        raise ModelError(
            f"an exported graph takes maxima over {MAX_EXPORT_LENGTH} words at most; "
            f"set encoder.max_pieces to {MAX_EXPORT_LENGTH}."
        )
    folder.mkdir(parents=True, exist_ok=True)
    batch, runner = _sample_batch(pipeline), pipeline.torch_runner
    first = runner.forward(batch)
    features: Tensors = cast(Tensors, first.features)
    given = [getattr(batch.words, name) for name in WORDS] + [batch.proposals.spans]
    wanted = [*_names(first.scores), *_names(features)]
    _export(ForwardGraph(runner.model), given, [*WORDS, SPANS], wanted, folder / FORWARD)
    rows = _sample_rows(pipeline, batch, first.scores)
    if rows is not None:
        names = [*_names(features), *(ROWS + name for name in _names(rows))]
        arrays = [*(tensor.numpy() for tensor in features), *rows]
        graph = RescoreGraph(runner.model, features, rows)
        _export(graph, arrays, names, list(_names(pipeline.reader.decoder.second)), folder / RESCORE)


def _sample_batch(pipeline: TorchPipeline) -> Batch[Array]:
    examples = [example for document in SAMPLES for example in pipeline.task.builder.examples(document)]
    return collate(examples, pipeline.pieces, pipeline.reader.proposer)


def _sample_rows(pipeline: TorchPipeline, batch: Batch[Array], scores: Arrays) -> Arrays | None:
    """Rows that stage two would score if everything were probable; None where it never scores any."""
    spans = batch.proposals.spans.astype(np.int64)
    labels = np.arange(len(spans)) % max(len(pipeline.schema.entities), 1)
    entities = PredictedSpans(spans, labels, np.ones(len(spans), np.float32))
    probable = cast(Callable[..., Arrays], type(scores))(*(np.full_like(array, 10.0) for array in scores))
    thresholds, decoder = pipeline.thresholds(0.0, 0.0), pipeline.reader.decoder
    for given in (entities, None):
        for rows in decoder.propose(probable, batch, thresholds, given).rows:
            return cast(Arrays, rows)
    return None


def _names(arrays: object) -> tuple[str, ...]:
    names: tuple[str, ...] = arrays._fields  # type: ignore[attr-defined]
    return names


def _export(graph: nn.Module, arrays: Sequence[Array], given: list[str], wanted: list[str], path: Path) -> None:
    """Every axis is dynamic but those of weights and bounds, which torch finds to be constant."""
    tensors = tuple(torch.from_numpy(np.ascontiguousarray(array)).clone() for array in arrays)
    axes = tuple(dict.fromkeys(range(tensor.ndim), torch.export.Dim.AUTO) for tensor in tensors)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph.eval(),
            tensors,
            path,
            dynamo=True,
            dynamic_shapes=(axes,),
            input_names=given,
            output_names=wanted,
            external_data=False,
            verbose=False,
        )
