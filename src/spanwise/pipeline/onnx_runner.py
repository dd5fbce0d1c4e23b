"""The ONNX Runtime backend: the graphs of a model, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import cast

import numpy as np

from spanwise.errors import ModelError
from spanwise.pipeline.label_cache import LabelCache
from spanwise.seam.batch import Array, Batch, LabelTexts, Words
from spanwise.seam.decoder import Decoder
from spanwise.seam.runner import Arrays, StageOne

LABELS, RELATIONS, FORWARD, RESCORE = GRAPHS = "labels.onnx", "relations.onnx", "forward.onnx", "rescore.onnx"
WORDS = tuple(field.name for field in fields(Words))
LABEL_TEXTS = tuple(field.name for field in fields(LabelTexts))
SPANS = "spans"
ONE_SPAN = np.array(
    [[0, 0, 1]]
)  # for batches with given entities: graphs need a candidate, but nobody reads its scores
# before the names of label texts, of encoded labels, of features that stage one hands to stage two, and of rows
TEXT_PREFIX, LABEL_PREFIX, FEATURE_PREFIX, ROW_PREFIX = "text_", "label_", "feature_", "rows_"
Named = dict[str, Array]
SLOW_FUSIONS = ["SkipLayerNormFusion"]  # on CPU, the fused operator takes several times as long as its two parts


class OnnxRunner:
    """Runs exported graphs: one per stage, and for texts of labels and relations. Threads can share it."""

    def __init__(self, folder: Path, decoder: Decoder, threads: int = 1) -> None:
        self.decoder = decoder
        self._forward = _Graph(folder / FORWARD, threads)
        self._rescore, self._labels, self._relations = (
            _Graph(folder / name, threads) if (folder / name).exists() else None
            for name in (RESCORE, LABELS, RELATIONS)
        )
        self._label_cache, self._relation_cache = (LabelCache[Named](_numbers) for _ in range(2))

    def forward(self, batch: Batch[Array]) -> StageOne:
        spans = batch.proposals.spans
        given: Named = {name: getattr(batch.words, name) for name in WORDS}
        given[SPANS] = spans if len(spans) else ONE_SPAN
        if batch.labels is not None:
            given |= self._label_inputs(batch.labels) | self._relation_inputs(batch.relation_labels)
        found = self._forward(given)
        features = {name: array for name, array in found.items() if name.startswith(FEATURE_PREFIX)}
        return StageOne(_named(self.decoder.first, found), features)

    def rescore(self, features: object, rows: Arrays) -> Arrays:
        if self._rescore is None or not isinstance(features, dict):
            raise ModelError(f"{RESCORE} is missing; copy the whole folder.")
        named = {ROW_PREFIX + name: array for name, array in rows._asdict().items()}  # type: ignore[attr-defined]
        return _named(self.decoder.second, self._rescore({**features, **named}))

    def _label_inputs(self, texts: LabelTexts[Array]) -> Named:
        """Label texts, and what the graph of the labels makes of them."""
        given: Named = {TEXT_PREFIX + name: getattr(texts, name) for name in LABEL_TEXTS}
        graph = self._labels
        return given if graph is None else given | self._label_cache.get(texts, lambda: graph(given))

    def _relation_inputs(self, texts: LabelTexts[Array] | None) -> Named:
        """What the graph of the relations makes of their texts; nothing of no relations."""
        graph = self._relations
        if graph is None:
            return {}
        if texts is None:
            return graph.empty_outputs()
        given: Named = {TEXT_PREFIX + name: getattr(texts, name) for name in LABEL_TEXTS}
        return self._relation_cache.get(texts, lambda: graph(given))


class _Graph:
    """One session with the names of its inputs and outputs."""

    def __init__(self, path: Path, threads: int) -> None:
        from onnxruntime import InferenceSession, SessionOptions

        if not path.is_file():
            raise ModelError(f"{path.parent}: {path.name} is missing; export the model again.")
        options = SessionOptions()
        options.intra_op_num_threads = threads
        options.enable_mem_pattern = False  # batches differ in shape
        options.log_severity_level = 3
        try:
            self._session = InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOW_FUSIONS
            )
        except Exception as error:  # the library has no common base class
            reason = str(error).strip().partition("\n")[0][:200]
            raise ModelError(f"{path}: ONNX Runtime cannot read it ({reason}); export the model again.") from None
        self._inputs = [node.name for node in self._session.get_inputs()]
        self._outputs = [node.name for node in self._session.get_outputs()]
        self._sizes = [node.shape[1:] for node in self._session.get_outputs()]

    def __call__(self, given: Mapping[str, Array]) -> Named:
        """Outputs by name; inputs that the graph does not have are left out."""
        feed = {name: np.ascontiguousarray(given[name]) for name in self._inputs}
        return dict(zip(self._outputs, self._session.run(self._outputs, feed), strict=True))

    def empty_outputs(self) -> Named:
        """Outputs with no rows."""
        return {name: np.zeros((0, *size), np.float32) for name, size in zip(self._outputs, self._sizes, strict=True)}


def _numbers(encoded: Named) -> int:
    return sum(array.size for array in encoded.values())


def _named(kind: type[tuple[object, ...]], found: Mapping[str, Array]) -> Arrays:
    """The named tuple of a decoder from outputs by name."""
    return cast(Arrays, kind._make(found[name] for name in kind._fields))  # type: ignore[attr-defined]
