"""The general model that ships with the package: any labels without training, small, intact and robust."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spanwise.document import Document
from spanwise.errors import InputError
from spanwise.inference.extractor import Extractor
from spanwise.inference.sources import GENERAL_VARIABLE, general_folder

TEXT = "Ibuprofen eased the migraine within an hour."
LABELS = ["drug", "disease or symptom", "duration"]
MEGABYTES = 8


@pytest.fixture(scope="module")
def general() -> Extractor:
    os.environ.pop(GENERAL_VARIABLE, None)
    return Extractor.general(threads=1)


def found(document: Document) -> dict[str, str]:
    return {document.text_of(entity): entity.label for entity in document.entities}


def test_it_is_small_and_its_files_are_those_of_the_checksums(general: Extractor) -> None:
    folder = general_folder()
    assert sum(path.stat().st_size for path in folder.iterdir()) < MEGABYTES * 1_000_000
    assert "model.safetensors" in json.loads((folder / "config.json").read_text())["checksums"]  # checked on loading


def test_its_card_names_the_corpora_and_their_licenses() -> None:
    card = (general_folder() / "README.md").read_text(encoding="utf-8")
    for part in ("open/multiconer2", "CC BY", "genia", "Zero-shot"):
        assert part in card


def test_it_finds_labels_by_name(general: Extractor) -> None:
    marked = found(general(TEXT, labels=LABELS))
    assert marked["Ibuprofen"] == "drug"
    assert marked["migraine"] == "disease or symptom"


def test_it_finds_labels_by_description(general: Extractor) -> None:
    labels = {"P": "name of a human being", "C": "a city or a country"}
    marked = found(general("Ada Lovelace was born in London.", labels=labels))
    assert marked == {"Ada Lovelace": "P", "London": "C"}


def test_it_asks_for_what_it_is_told(general: Extractor) -> None:
    text = "Ada Lovelace was born in London."
    assert set(found(general(text, labels=["city"])).values()) == {"city"}
    assert set(found(general(text, labels=["person"])).values()) == {"person"}


def test_the_command_runs_without_a_network() -> None:
    environment = {k: v for k, v in os.environ.items() if k != GENERAL_VARIABLE} | {"HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "spanwise", "extract", "--labels", ", ".join(LABELS), "--json"]
    done = subprocess.run(command, input=TEXT + "\n", capture_output=True, text=True, env=environment, check=True)
    assert {"start": 0, "end": 9, "label": "drug"}.items() <= json.loads(done.stdout)["entities"][0].items()


@pytest.mark.parametrize(
    "labels", [[], [""], ["a", "a"], ["x" * 10_000], [f"l{i}" for i in range(5_001)]], ids=lambda v: str(v)[:12]
)
def test_labels_that_cannot_work_are_refused(general: Extractor, labels: list[str]) -> None:
    with pytest.raises(InputError, match="label"):
        general(TEXT, labels=labels)


def test_five_thousand_labels_work(general: Extractor) -> None:
    labels = [*(f"kind {number}" for number in range(4_999)), "drug"]
    assert isinstance(general(TEXT, labels=labels), Document)


def test_it_starts_a_fine_tuning(tmp_path: Path) -> None:
    """All weights of the recipe `fine-tune` are in it."""
    from spanwise.pipeline.folder import load_fitting_weights
    from spanwise.pipeline.torch_pipeline import TorchPipeline

    pipeline = Extractor.general(threads=1).pipeline
    assert isinstance(pipeline, TorchPipeline)
    taken, parameters = load_fitting_weights(pipeline.model, general_folder(), None)
    assert taken == parameters
