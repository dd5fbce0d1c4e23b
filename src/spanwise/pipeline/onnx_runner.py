"""The ONNX Runtime backend: the graphs of a model, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from spanwise.errors import ModelError
from spanwise.seam.batch import Array, Batch, Words
from spanwise.seam.decoder import Decoder
from spanwise.seam.runner import Arrays, StageOne

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

FORWARD, RESCORE = "forward.onnx", "rescore.onnx"  # a graph per stage
WORDS, SPANS = tuple(field.name for field in fields(Words)), "spans"  # inputs of stage one
ROWS = "rows_"  # before the names of rows, which are inputs of stage two


class OnnxRunner:
    """Runs exported graphs. Outputs of stage one that the decoder does not read are the features of stage two."""

    def __init__(self, folder: Path, decoder: Decoder, threads: int = 1) -> None:
        self.decoder = decoder
        self._forward = _session(folder / FORWARD, threads)
        self._rescore = _session(folder / RESCORE, threads) if (folder / RESCORE).exists() else None

    def forward(self, batch: Batch[Array]) -> StageOne:
        given = {name: getattr(batch.words, name) for name in WORDS} | {SPANS: batch.proposals.spans}
        found = _run(self._forward, given)
        scores = _named(self.decoder.first, found)
        features = {name: array for name, array in found.items() if name not in _fields(self.decoder.first)}
        return StageOne(scores, features)

    def rescore(self, features: object, rows: Arrays) -> Arrays:
        if self._rescore is None or not isinstance(features, dict):
            raise ModelError(f"{RESCORE} is missing; copy the whole folder.")
        named = {ROWS + name: array for name, array in rows._asdict().items()}  # type: ignore[attr-defined]
        return _named(self.decoder.second, _run(self._rescore, {**features, **named}))


def _named(kind: type[tuple[object, ...]], found: Mapping[str, Array]) -> Arrays:
    """The named tuple of a decoder from outputs by name."""
    return cast(Arrays, kind._make(found[name] for name in _fields(kind)))  # type: ignore[attr-defined]


def _fields(kind: type[tuple[object, ...]]) -> tuple[str, ...]:
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return names


def _session(path: Path, threads: int) -> InferenceSession:
    try:
        from onnxruntime import InferenceSession, SessionOptions
    except ImportError:
        raise ModelError("an exported model needs ONNX Runtime; run `pip install 'spanwise[onnx]'`.") from None
    if not path.is_file():
        raise ModelError(f"{path.parent}: {path.name} is missing; export the model again.")
    options = SessionOptions()
    options.intra_op_num_threads = threads
    return InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _run(session: InferenceSession, given: Mapping[str, Array]) -> dict[str, Array]:
    """Outputs by name; inputs that a graph does not have are left out."""
    wanted = [node.name for node in session.get_outputs()]
    feed = {node.name: np.ascontiguousarray(given[node.name]) for node in session.get_inputs()}
    return dict(zip(wanted, session.run(wanted, feed), strict=True))
