"""The verbs take a corpus in the layout of its distribution: a folder, and lists of files as its splits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from invented_ace import put
from spanwise.formats import read

Command = Callable[..., Any]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for number in range(4):
        put(tmp_path / "ace" / "nw" / "timex2norm", f"doc.{number}")
    for split, names in {"train": "doc.0\ndoc.1\n", "dev": "doc.2\n", "test": "doc.3\n"}.items():
        (tmp_path / "ace" / f"{split}.list").write_text(names)
    return tmp_path / "ace"


def test_a_folder_is_converted_with_its_head_regions(command: Command, corpus: Path, tmp_path: Path) -> None:
    done = command("convert", corpus, tmp_path / "all.jsonl")
    assert done.code == 0
    assert "4 x ACE event mention (the format ace-events reads it)" in done.err
    documents = list(read(tmp_path / "all.jsonl"))
    assert documents == list(read(corpus))
    assert documents[0].entities[0].head is not None


def test_events_are_converted_when_they_are_asked_for(command: Command, corpus: Path, tmp_path: Path) -> None:
    assert command("convert", corpus / "train.list", tmp_path / "x.jsonl", "--from", "ace-events").code == 0
    assert [e.label for d in read(tmp_path / "x.jsonl") for e in d.entities] == ["Movement:Transport"] * 2


def test_a_folder_is_inspected(command: Command, corpus: Path) -> None:
    done = command("inspect", corpus, "--json")
    assert (done.code, json.loads(done.out)["splits"]["train"]["entities"]) == (0, 12)


def test_lists_give_a_recipe_and_a_trained_model(
    command: Command, corpus: Path, tiny_encoder: Path, tmp_path: Path
) -> None:
    recipe, run = tmp_path / "recipe.yaml", tmp_path / "run"
    assert command("init", *sorted(corpus.glob("*.list")), "--no-probe", "--out", recipe).code == 0
    small = ["--set", f"encoder.name={tiny_encoder}", "--set", "train.epochs=1", "--set", "data.heads=true"]
    assert command("train", recipe, *small, "--out", run).code == 0
    done = command("evaluate", run, "--split", "test", "--json")
    assert done.code == 0


def test_a_preset_is_trained_on_the_lists(command: Command, corpus: Path, tiny_encoder: Path, tmp_path: Path) -> None:
    files = [f"data.{split}={corpus / split}.list" for split in ("train", "dev", "test")]
    small = [f"encoder.name={tiny_encoder}", "encoder.max_pieces=null", "train.epochs=1"]
    given = [argument for assignment in (*files, *small) for argument in ("--set", assignment)]
    done = command("train", "paper/stsn-ace05", *given, "--out", tmp_path / "run")
    assert done.code == 0
