"""Suites of tiny variants, and a corpus that they learn in a second."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from spanwise import corpora
from spanwise.benchmark import execute
from spanwise.benchmark import runs as running
from spanwise.benchmark import suite as suite_files


@pytest.fixture
def suites(tmp_path: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """suites(name, ...): write a suite of two tiny variants that takes a second to run."""
    folder = tmp_path / "suites"
    folder.mkdir()
    monkeypatch.setattr(suite_files, "SUITES", folder)
    quick = {"encoder.name": str(tiny_encoder), "train.epochs": 1, "train.batch_size": 8}

    def write(name: str = "tiny", **sections: Any) -> None:
        suite = {
            "title": "Tiny",
            "variants": {
                "tags": {"recipe": "seq-ner", "set": quick},
                "spans": {"recipe": "span-ner", "set": quick},
            },
            "corpora": {"easy": {"train.task_lr": 0.01}},
            "paper": {"easy": {"tags": {"P": 90.0, "R": 80.0, "F1": 84.7}}},
            **sections,
        }
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(suite, sort_keys=False))

    write()
    return write


@pytest.fixture
def easy(easy_files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The easy corpus under a name, for runs in this process; `execute` is what a process of its own would do."""
    corpus = corpora.from_files(*([easy_files / f"{split}.jsonl"] for split in ("train", "dev", "test")))
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name: corpus if name == "easy" else load(name))
    monkeypatch.setattr(
        running, "_execute_all", lambda runs, folder, _, keep, stop=None: (execute(r, folder, 1, keep) for r in runs)
    )
