"""A saved model with random weights, and generated documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline


@pytest.fixture(scope="session")
def model(make_pipeline: Callable[..., TorchPipeline], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tagger with random weights. Tests must not write into it."""
    folder = tmp_path_factory.mktemp("models") / "tagger"
    Extractor(make_pipeline("seq-ner")).save_pretrained(folder)
    return folder


@pytest.fixture
def write_texts(tmp_path: Path) -> Callable[[int], Path]:
    """write_texts(500): a file of so many documents, no two of them equal."""

    def write(count: int, name: str = "in.jsonl") -> Path:
        path = tmp_path / name
        rows = ({"text": f"Mara {number} met Bo in Kell .", "id": str(number)} for number in range(count))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write
