"""The contract of every verb: help with an example, results on standard output, one sentence for wrong input."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from spanwise import __version__
from spanwise.cli import app
from spanwise.errors import ModelError
from spanwise.inference.extractor import Extractor

Command = Callable[..., Any]
VERBS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_every_verb_is_registered() -> None:
    verbs = "benchmark convert corpora demo evaluate init inspect models predict train"
    assert set(verbs.split()) <= set(VERBS)


@pytest.mark.parametrize("name", VERBS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_has_an_example(command: Command, name: str, flag: str) -> None:
    done = command(name, flag)
    assert (done.code, done.err) == (0, "")
    assert f"Example: spanwise {name}" in " ".join(done.out.replace("│", " ").split())


@pytest.mark.parametrize("name", ["", *VERBS])
def test_flags_are_shown_without_the_type_of_a_value(command: Command, name: str) -> None:
    shown = command(*name.split(), "--help").out
    assert "--help" in shown
    assert "bool" not in shown.lower()


@pytest.mark.parametrize("name", ["evaluate", "predict"])
def test_the_device_is_chosen_by_default(command: Command, name: str) -> None:
    assert "[default: auto]" in " ".join(command(name, "--help").out.replace("│", " ").split())


def test_no_verb_shows_the_help_and_the_version_is_printed(command: Command) -> None:
    assert "Usage: spanwise" in command().out + command().err
    assert command("--version").out == f"{__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    ["nope", "train", "train recipe.yaml --nope", "predict", "evaluate", "benchmark", "models x y"],
)
def test_wrong_usage_ends_with_2_and_no_traceback(command: Command, arguments: str) -> None:
    done = command(*arguments.split())
    assert (done.code, done.out) == (2, "")
    assert "Usage: spanwise" in done.err
    assert "Traceback" not in done.err


def test_debug_shows_the_traceback(command: Command) -> None:
    with pytest.raises(ModelError, match="model folder 'nope' does not exist"):
        command("--debug", "predict", "nope", "-")


def test_text_in_brackets_is_printed_as_it_is(command: Command, tmp_path: Path) -> None:
    assert "[bold]x[/]" in command("predict", tmp_path / "[bold]x[/]").refusal


def test_an_interrupt_ends_with_130(command: Command, monkeypatch: pytest.MonkeyPatch, trained: Path) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Extractor, "from_pretrained", interrupt)
    done = command("predict", trained)
    assert (done.code, done.out) == (130, "")
    assert "Traceback" not in done.err


def python(*arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spanwise", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_a_process_of_its_own_keeps_the_contract(trained: Path, tmp_path: Path) -> None:
    done = python("predict", trained, "--lines", stdin="Ada Moss left Upper Dale .\n")
    assert done.returncode == 0
    assert [entity["label"] for entity in json.loads(done.stdout)["entities"]] == ["Person", "Place"]
    refused = python("predict", tmp_path / "nope")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.splitlines() == [
        f"error: model folder '{tmp_path / 'nope'}' does not exist; check the path, or train one with `spanwise train`."
    ]
