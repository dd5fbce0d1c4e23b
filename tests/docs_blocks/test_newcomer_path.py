"""The newcomer's path: six commands on one page, which benchmarks/newcomer.py runs and times."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spanwise import formats

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "newcomer.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_the_page_has_six_commands_from_the_export_to_the_service(script: dict[str, Any]) -> None:
    commands = script["commands"](script["PAGE"].read_text(encoding="utf-8"))
    verbs = ["inspect", "split", "init", "train", "evaluate", "serve"]
    assert [command[:2] for command in commands] == [["spanwise", verb] for verb in verbs]
    assert commands[0][2] == commands[1][2] == "export.json"


def test_the_demo_is_an_export_of_label_studio(script: dict[str, Any], tmp_path: Path) -> None:
    script["write_export"](tmp_path / "export.json")
    assert formats.detect(tmp_path / "export.json") == "label-studio"
    documents = list(formats.read(tmp_path / "export.json"))
    assert len(documents) > 1000
    assert any(document.relations for document in documents)


def test_the_times_take_the_place_of_earlier_ones(script: dict[str, Any]) -> None:
    times = script["table"]({"spanwise inspect export.json": 1.6, "spanwise split export.json": 2})
    page = script["PAGE"].read_text(encoding="utf-8")
    written = script["with_times"](script["with_times"](page, "old"), times)
    assert "| `spanwise inspect export.json` | 2 |\n| `spanwise split export.json` | 2 |\n| together | 4 |" in written
    assert "old" not in written.partition("<!-- times -->")[2].partition("<!-- end times -->")[0]
    assert written.partition("<!-- end times -->")[2] == page.partition("<!-- end times -->")[2]
    with pytest.raises(SystemExit, match="no place"):
        script["with_times"]("a page", times)


@pytest.fixture
def _free_port() -> None:
    with socket.socket() as port:
        if port.connect_ex(("127.0.0.1", 8000)) == 0:
            pytest.skip("another service listens on the port of the page")


def walked(folder: Path, *options: str) -> tuple[dict[str, float], list[str]]:
    """The times that the script keeps, and what the service found in a text."""
    call = [sys.executable, str(SCRIPT), "--folder", str(folder), "--text", "Mara left Kell .", *options]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (document,) = json.loads(done.stdout.splitlines()[-1])["documents"]
    times = json.loads((folder / "newcomer-times.json").read_text(encoding="utf-8"))
    return times, [document["text"][entity["start"] : entity["end"]] for entity in document["entities"]]


@pytest.mark.slow
@pytest.mark.usefixtures("_free_port")
def test_a_path_resumes_and_ends_with_an_answer_of_the_service(
    script: dict[str, Any], trained: Path, tmp_path: Path
) -> None:
    commands = [" ".join(command) for command in script["commands"](script["PAGE"].read_text(encoding="utf-8"))]
    shutil.copytree(trained, tmp_path / "runs" / "mine")
    (tmp_path / "export.json").write_text("[]", encoding="utf-8")
    (tmp_path / "newcomer-times.json").write_text(json.dumps(dict.fromkeys(commands[:4], 7)), encoding="utf-8")
    times, found = walked(tmp_path)
    assert list(times) == commands
    assert list(times.values())[:4] == [7] * 4
    assert found == ["Mara", "Kell"]


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("SPANWISE_DOCS"), reason="takes minutes; set SPANWISE_DOCS=1 (make test-docs)")
@pytest.mark.usefixtures("_free_port")
def test_the_six_commands_lead_from_an_export_to_a_service(easy_files: Path, tmp_path: Path) -> None:
    formats.write(formats.read(easy_files / "train.jsonl"), tmp_path / "easy.json", "label-studio")
    times, _ = walked(tmp_path / "newcomer", "--export", str(tmp_path / "easy.json"))
    assert len(times) == 6
