"""The first hour with one's own data, command by command, as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spanwise import formats

RESUMABLE = "checkpoint.safetensors"


class Shell:
    """Commands in a folder of the user's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "spanwise", *arguments]
        environment = {**os.environ, "COLUMNS": "80", "SPANWISE_THREADS": "1"}
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __call__(self, *arguments: str, code: int = 0) -> str:
        out, err = (process := self.start(*arguments)).communicate(timeout=300)
        assert process.returncode == code, err
        assert "Traceback" not in err
        return out + err


@pytest.fixture
def shell(easy_files: Path, tmp_path: Path) -> Shell:
    """A folder with labeled files and a text, as a user has them; the names of the files mark train and test."""
    for name in ("train.jsonl", "test.jsonl"):
        (tmp_path / name).write_bytes((easy_files / name).read_bytes())
    (tmp_path / "notes.txt").write_text("Mara met Bo in Kell .\nAda Moss left Brenford .\n")
    return Shell(tmp_path)


def interrupted(shell: Shell, *arguments: str) -> str:
    """Start a training, send SIGINT once a checkpoint is there, and give what it printed."""
    process = shell.start(*arguments)
    checkpoint = shell.folder / "runs" / "mine" / RESUMABLE
    for _ in range(600):
        if checkpoint.exists() or process.poll() is not None:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    return out + err


@pytest.mark.slow
def test_from_labeled_files_to_entities_in_a_text(shell: Shell, tiny_encoder: Path) -> None:
    assert "64" in shell("inspect", "train.jsonl", "--test", "test.jsonl")
    assert "dev_share: 0.1" in shell("init", "train.jsonl", "test.jsonl", "--new", "--out", "recipe.yaml", "--no-probe")
    tiny = (f"encoder.name={tiny_encoder}", "train.encoder_lr=5e-3", "train.task_lr=1e-2", "train.epochs=40")
    train = ("train", "recipe.yaml", *(part for key in tiny for part in ("--set", key)), "--out", "runs/mine")
    stopped = interrupted(shell, *train)
    assert "runs/mine" in stopped
    assert "spanwise train recipe.yaml" in stopped  # the command that resumes it
    finished = shell(*train)
    assert "resuming from step" in finished
    assert "next: spanwise evaluate runs/mine" in finished
    scores = json.loads(shell("evaluate", "runs/mine", "test.jsonl", "--json"))
    assert scores["entities"]["micro"]["f1"] > 0.8
    table = shell("evaluate", "runs/mine", "test.jsonl")
    assert all(word in table for word in ("precision", "recall", "F1", "Person", "Place", "micro"))
    shell("predict", "runs/mine", "notes.txt", "found.jsonl")
    (document,) = formats.read(shell.folder / "found.jsonl")
    found = {(document.text_of(entity), entity.label) for entity in document.entities}
    assert found >= {("Mara", "Person"), ("Kell", "Place"), ("Brenford", "Place")}
