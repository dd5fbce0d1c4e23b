"""Two processes train one model together."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from spanwise.recipe import Recipe
from spanwise.training.run import train

# A CRF's transitions are used by the loss alone, a bundle has two losses: both must reach every process.
OVERRIDES = ("model.tagging=crf", "bundle={name: span-ner}", "train.tracker=tensorboard")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.slow
def test_two_processes_train_one_model_as_good_as_that_of_one(easy_recipe: Path, tmp_path: Path) -> None:
    alone = train(Recipe.load(easy_recipe, OVERRIDES), tmp_path / "alone")
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes=2"]
    launch += ["--num_machines=1", "--mixed_precision=no", "--dynamo_backend=no", f"--main_process_port={free_port()}"]
    settings = [part for override in OVERRIDES for part in ("--set", override)]
    verb = ["-m", "spanwise", "train", str(easy_recipe), "--out", str(tmp_path / "two"), "--json", *settings]
    done = subprocess.run([*launch, *verb], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)  # of one process
    assert done.stderr.count("epoch 1/16  loss") == 1
    assert json.loads((tmp_path / "two" / "environment.json").read_text())["processes"] == 2
    assert names(tmp_path / "two") == names(tmp_path / "alone")
    assert summary["steps"] == alone.steps
    assert min(summary["dev_f1"], alone.dev_f1 or 0) >= 0.9
    assert summary["dev_f1"] == pytest.approx(alone.dev_f1, abs=0.08)
