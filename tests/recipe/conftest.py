"""A recipe file with files of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text("model: {name: seq-ner}\ndata: {train: [a.jsonl, sub/b.jsonl], dev: [../c.jsonl]}\n")
    return path
