"""`spanwise export`: a folder without PyTorch that predicts as before, and wrong input in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


@pytest.mark.slow
def test_an_exported_model_is_checked_predicts_as_before_and_is_not_exported_again(
    command: Command, trained: Path, easy_files: Path, tmp_path: Path
) -> None:
    exported, test = tmp_path / "exported", easy_files / "test.jsonl"
    done = command("export", trained, exported, "--int8", "--check", test, "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    before, after = (result["check"][when]["entities"]["micro"]["f1"] for when in ("before", "after"))
    assert before - after <= 0.003
    assert (exported / "forward.onnx").stat().st_size == result["bytes"]["forward.onnx"]
    config = json.loads((exported / "config.json").read_text("utf-8"))
    assert config["export"] == {"precision": "int8", "excluded": result["excluded"]}
    scored = json.loads(command("evaluate", exported, test, "--json").out)
    assert scored["entities"]["micro"]["f1"] == pytest.approx(after)
    again = command("export", exported, tmp_path / "again")
    assert again.refusal == f"{exported} is exported already; export the model folder that was trained."


def test_wrong_input_is_refused(command: Command, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    assert "exists; export into a new or an empty folder" in command("export", trained, tmp_path / "full").refusal
    assert "are for --check FILE" in command("export", trained, tmp_path / "new", "--skip-bad").refusal
    assert "does not exist" in command("export", tmp_path / "nothing", tmp_path / "new").refusal
