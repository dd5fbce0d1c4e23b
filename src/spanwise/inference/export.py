"""A trained model as a folder that ONNX Runtime reads: graphs, tokenizer, schema and config."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from spanwise.errors import InputError, ModelError
from spanwise.files import write_text
from spanwise.inference.quantization import copy_graphs
from spanwise.pipeline import MODEL_CARD
from spanwise.pipeline.onnx_folder import TOKENIZER, write_config
from spanwise.pipeline.onnx_runner import OnnxRunner
from spanwise.pipeline.pipeline import Pipeline
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.text.pieces import WordPieces

COMPARED_WORDS = 5_000  # of the vocabulary, which the stored tokenizer must split as the one of training does


def check_new(folder: Path) -> None:
    """Refuse a folder that holds something already."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(f"{folder} exists; export into a new or an empty folder.")


def on_onnx(pipeline: TorchPipeline, graphs: Path, threads: int = 1) -> Pipeline:
    """The same model on ONNX Runtime."""
    reader = pipeline.reader
    runner = OnnxRunner(graphs, reader.decoder, threads)
    return Pipeline(reader, pipeline.schema, pipeline.pieces, pipeline.windows, runner, pipeline.threshold)


def write_exported(pipeline: TorchPipeline, graphs: Path, folder: Path, card: str = "", **export: Any) -> None:
    """Fill an empty folder; `export` says how the graphs were made, and `card` is the model card."""
    copy_graphs(graphs, folder)
    _write_tokenizer(pipeline, folder / TOKENIZER)
    if card:
        write_text(folder / MODEL_CARD, card)
    sections = {section.name: section for section in pipeline.blueprint.sections}
    options = sections[pipeline.reader.name].config.model_dump(mode="json")
    write_config(pipeline, folder, options, **export)


def _write_tokenizer(pipeline: TorchPipeline, path: Path) -> None:
    """The tokenizer as one file, after checking that it splits words as the tokenizer of training does."""
    backend = getattr(pipeline.tokenizer, "backend_tokenizer", None)
    if backend is None:
        name = type(pipeline.tokenizer).__name__
        raise ModelError(f"{name} cannot be written as a tokenizer.json; choose an encoder with a fast tokenizer.")
    write_text(path, _saved(backend, path))
    stored = WordPieces.from_file(path, pipeline.pieces.settings)
    words = sorted(pipeline.tokenizer.get_vocab())[:: max(1, len(pipeline.tokenizer) // COMPARED_WORDS)]
    if stored(words) != pipeline.pieces(words):
        raise ModelError(
            f"{path.name} would split words differently from the tokenizer of training; export is refused."
        )


def _saved(backend: Any, path: Path) -> str:
    try:
        text: str = backend.to_str()
    except Exception as error:  # the library raises plain exceptions, such as for parts written in Python
        reason = str(error).strip().partition("\n")[0][:200]
        raise ModelError(f"the tokenizer cannot be written as {path.name} ({reason}).") from None
    json.loads(text)
    return text
