"""`spanwise extract`: any labels of a text, by the general model or another one with open labels."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from spanwise.inference.extractor import Extractor
from spanwise.inference.sources import model_folder as model_source
from spanwise.pipeline import folder as model_folder
from spanwise.pipeline.torch_pipeline import TorchPipeline

TEXT = "Mara Ostrow met Bo Lind in Brenford ."


@pytest.fixture(scope="module")
def general(make_pipeline: Callable[..., TorchPipeline], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random model with open labels that marks something."""
    pipeline = make_pipeline("span-ner", scorer="descriptions")
    with torch.no_grad():
        pipeline.model.label_scorer.bias.zero_()  # type: ignore[union-attr,operator]
    folder = tmp_path_factory.mktemp("general")
    model_folder.save(pipeline, folder)
    return folder


def run(*arguments: str, folder: Path | None, given: str = "") -> subprocess.CompletedProcess[str]:
    import os

    environment = {**os.environ, "SPANWISE_GENERAL": str(folder)} if folder else dict(os.environ)
    command = [sys.executable, "-m", "spanwise", "extract", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, env=environment)


@pytest.mark.slow
def test_labels_of_a_text_from_standard_input_are_those_of_the_extractor(
    general: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run("--labels", "town, human", "--json", folder=general, given=TEXT + "\n")
    monkeypatch.setenv("SPANWISE_GENERAL", str(general))
    wanted = Extractor.general()(TEXT, labels=["town", "human"])
    assert wanted.entities
    entities = json.loads(found.stdout)["entities"]
    assert [(e["start"], e["end"], e["label"]) for e in entities] == [
        (e.start, e.end, e.label) for e in wanted.entities
    ]


@pytest.mark.parametrize(
    ("labels", "problem"),
    [("", "names with commas"), ("a,,b", "names with commas"), ("a, a", "twice"), ("x" * 6000, "at most 5,000")],
    ids=["none", "empty", "twice", "long"],
)
def test_labels_that_cannot_be_asked_for_are_reported(labels: str, problem: str, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from spanwise.cli import app

    result = CliRunner().invoke(app, ["extract", TEXT, "--labels", labels, "--model", str(tmp_path)])
    assert problem in str(result.exception)


def test_a_missing_general_model_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANWISE_GENERAL", str(tmp_path / "none"))
    with pytest.raises(Exception, match="the general model is not at"):
        Extractor.general()


def test_a_folder_named_general_that_is_no_model_does_not_hide_the_general_model(
    general: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANWISE_GENERAL", str(general))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "general").mkdir()
    assert model_source("general") == general
    (tmp_path / "general" / "config.json").write_text("{}")
    assert model_source("general") == Path("general")
