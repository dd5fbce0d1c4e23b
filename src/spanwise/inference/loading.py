"""Load a model folder on the backend that it was saved for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spanwise import runtime
from spanwise.errors import InputError, ModelError
from spanwise.pipeline.pipeline import Pipeline
from spanwise.pipeline.stored import BACKEND, ONNX, read_config

if TYPE_CHECKING:
    from spanwise.pipeline.adapters import SharedEncoder
    from spanwise.pipeline.torch_pipeline import TorchPipeline


def is_exported(folder: Path) -> bool:
    """Whether the folder holds graphs for ONNX Runtime instead of weights for PyTorch."""
    return read_config(folder).get(BACKEND) == ONNX


def load_exported(
    folder: Path, reader: str | None = None, *, device: str = "cpu", threads: int | None = None, verify: bool = True
) -> Pipeline:
    from spanwise.pipeline.onnx_folder import load

    if device not in ("auto", "cpu"):
        raise InputError(f"an exported model runs on the CPU, not on {device!r}; leave the device out.")
    count = runtime.session_threads(threads)
    return load(folder, read_config(folder), reader, threads=count, verify=verify)


def load_trained(
    folder: Path,
    reader: str | None = None,
    *,
    device: str = "cpu",
    encoder: SharedEncoder | None = None,
    verify: bool = True,
) -> TorchPipeline:
    try:
        from spanwise.pipeline.folder import load
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "transformers"):
            raise
        raise ModelError(
            f"{folder} needs PyTorch: run `pip install 'spanwise[train]'`, or export the model where it was trained "
            f"(`spanwise export {folder} OUT`)."
        ) from None
    pipeline = load(folder, reader, encoder=encoder, verify=verify)
    pipeline.model.to(runtime.resolve_device(device))
    return pipeline
