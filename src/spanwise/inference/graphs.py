"""A model as ONNX graphs, one per stage, for batches of any shape."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.document import Document
from spanwise.errors import ModelError
from spanwise.nn.pooling import MAX_EXPORT_LENGTH
from spanwise.pipeline.collate import collate
from spanwise.pipeline.onnx_runner import (
    FEATURE_PREFIX,
    FORWARD,
    LABEL_PREFIX,
    LABEL_TEXTS,
    LABELS,
    RELATIONS,
    RESCORE,
    ROW_PREFIX,
    SPANS,
    TEXT_PREFIX,
    WORDS,
)
from spanwise.pipeline.pipeline import Task
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.schema import RelationType
from spanwise.seam.batch import Array, Batch, LabelTexts, Proposals, Words
from spanwise.seam.decoder import PredictedSpans
from spanwise.seam.module import SpanModel, Tensors
from spanwise.seam.runner import Arrays

log = logging.getLogger("spanwise")
Encode = Callable[[LabelTexts[Tensor]], Tensors]
SAMPLES = (Document("Somebody met somebody else in a town ."), Document("It rained in another one"))


class LabelsGraph(nn.Module):
    """Label texts in; encoded labels out. `encode` is the model's method for labels or for relations."""

    def __init__(self, model: SpanModel, encode: Encode) -> None:
        super().__init__()
        self.model, self.encode = model, encode

    def forward(self, *arrays: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.encode(LabelTexts(*arrays)))


class ForwardGraph(nn.Module):
    """Words, candidates, and label texts or encoded labels in; scores, then features out."""

    def __init__(self, model: SpanModel, *, encoded: bool) -> None:
        super().__init__()
        self.model, self.encoded = model, encoded

    def forward(self, *arrays: Tensor) -> tuple[Tensor, ...]:
        number = len(WORDS)
        words, spans, labels = arrays[:number], arrays[number], arrays[number + 1 :]
        none = spans.new_zeros(0, 2)
        proposals = Proposals(spans, spans[:, :0].bool(), none, none[:, :0].float())
        texts = LabelTexts(*labels) if labels and not self.encoded else None
        batch = Batch(words[0].shape[0], Words(*words), proposals, texts)
        output = self.model(batch, labels if self.encoded else None)
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
    """Write a graph for each stage of the model that reads out, and for its texts of labels and relations if it encodes
    them.
    """
    if pipeline.windows.limit > MAX_EXPORT_LENGTH:
        raise ModelError(
            f"an exported graph takes maxima over {MAX_EXPORT_LENGTH} words at most; "
            f"set encoder.max_pieces to {MAX_EXPORT_LENGTH}."
        )
    folder.mkdir(parents=True, exist_ok=True)
    pipeline = pipeline.merged()
    try:
        with _plain_attention(pipeline.torch_runner.model):
            _export_stages(pipeline, folder)
    except torch.onnx.OnnxExporterError as error:
        log.debug("%s", error)
        raise ModelError(
            f"this {pipeline.reader.name} cannot be exported with its options: a part of it depends on the data in a "
            f"way that a graph cannot express (--debug shows it)."
        ) from error


@contextmanager
def _plain_attention(model: SpanModel) -> Iterator[None]:
    """Attention of the encoder as products and a softmax, which ONNX Runtime fuses better than a whole."""
    transformer = model.encoder.transformer
    before = transformer.config._attn_implementation
    transformer.set_attn_implementation("eager")
    try:
        yield
    finally:
        transformer.set_attn_implementation(before)


def _export_stages(pipeline: TorchPipeline, folder: Path) -> None:
    task, model = _sample_task(pipeline), pipeline.torch_runner.model
    batch = _sample_batch(pipeline, task)
    given = _named(WORDS, batch.words) | {SPANS: batch.proposals.spans}
    encoded: dict[str, Array] = {}
    for texts, encode, name in (
        (batch.labels, model.encode_labels, LABELS),
        (batch.relation_labels, model.encode_relations, RELATIONS),
    ):
        if texts is not None:
            encoded |= _export_labels(LabelsGraph(model, encode), texts, folder / name)
    if batch.labels is not None and not encoded:
        encoded = _named(LABEL_TEXTS, batch.labels, TEXT_PREFIX)
    first = pipeline.torch_runner.forward(batch)
    features: Tensors = cast(Tensors, first.features)
    named_features = [FEATURE_PREFIX + name for name in _fields(features)]
    has_labels_graph = any(name.startswith(LABEL_PREFIX) for name in encoded)
    graph = ForwardGraph(model, encoded=has_labels_graph)
    _export(graph, given | encoded, [*_fields(first.scores), *named_features], folder / FORWARD)
    rows = _sample_rows(pipeline, task, batch, first.scores)
    if rows is not None:
        inputs = dict(zip(named_features, (tensor.numpy() for tensor in features), strict=True))
        inputs |= {ROW_PREFIX + name: array for name, array in zip(_fields(rows), rows, strict=True)}
        second = RescoreGraph(model, features, rows)
        _export(second, inputs, [*_fields_of(pipeline.reader.decoder.second)], folder / RESCORE)


def _export_labels(graph: LabelsGraph, texts: LabelTexts[Array], path: Path) -> dict[str, Array]:
    """Write the graph of the labels; gives what it returns, by name. Empty for models that do not encode labels."""
    with torch.inference_mode():
        encoded = graph.encode(texts.map(torch.from_numpy))
    if not encoded:
        return {}
    names = [LABEL_PREFIX + name for name in _fields(encoded)]
    _export(graph, _named(LABEL_TEXTS, texts, TEXT_PREFIX), names, path)
    return dict(zip(names, (tensor.numpy() for tensor in encoded), strict=True))


def _named(names: Sequence[str], source: object, prefix: str = "") -> dict[str, Array]:
    return {prefix + name: getattr(source, name) for name in names}


def _sample_task(pipeline: TorchPipeline) -> Task:
    """The model's own labels, with a relation if it takes any and has none."""
    schema = pipeline.schema
    if schema.relations or not pipeline.reader.traits.open_relations:
        return pipeline.task
    return pipeline.task_for(replace(schema, relations=(RelationType("related"),)))


def _sample_batch(pipeline: TorchPipeline, task: Task) -> Batch[Array]:
    examples = [example for document in SAMPLES for example in task.builder.examples(document)]
    proposer = pipeline.reader.proposer
    return collate(examples, pipeline.pieces, proposer, labels=task.labels, relation_labels=task.relations)


def _sample_rows(pipeline: TorchPipeline, task: Task, batch: Batch[Array], scores: Arrays) -> Arrays | None:
    """Rows that stage two would score if everything were probable; None where it never scores any."""
    spans = batch.proposals.spans.astype(np.int64)
    labels = np.arange(len(spans)) % max(len(pipeline.schema.entities), 1)
    entities = PredictedSpans(spans, labels, np.ones(len(spans), np.float32))
    probable = cast(Callable[..., Arrays], type(scores))(*(np.full_like(array, 10.0) for array in scores))
    thresholds = pipeline.thresholds(0.0, 0.0, task.schema)
    for given in (entities, None):
        for rows in task.decoder.propose(probable, batch, thresholds, given).rows:
            return cast(Arrays, rows)
    return None


def _fields(arrays: object) -> tuple[str, ...]:
    return _fields_of(type(arrays))


def _fields_of(kind: type) -> tuple[str, ...]:
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return names


def _export(graph: nn.Module, given: Mapping[str, Array], wanted: Sequence[str], path: Path) -> None:
    """Every axis is dynamic but those of weights and bounds, which torch finds to be constant."""
    tensors = tuple(torch.from_numpy(np.ascontiguousarray(array)).clone() for array in given.values())
    axes = tuple(dict.fromkeys(range(tensor.ndim), torch.export.Dim.AUTO) for tensor in tensors)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it warns of torchvision, which is not needed
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph.eval(),
            tensors,
            path,
            dynamo=True,
            dynamic_shapes=(axes,),
            input_names=list(given),
            output_names=list(wanted),
            external_data=False,
            verbose=False,
        )
