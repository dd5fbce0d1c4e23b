"""`spanwise split`: labeled files to train, dev and test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spanwise import formats

Command = Callable[..., Any]


def test_documents_are_split_and_the_next_command_is_named(command: Command, easy_files: Path, tmp_path: Path) -> None:
    done = command("split", easy_files / "train.jsonl", "--dev", 0.2, "--test", 0.1, "--out", tmp_path / "data")
    assert done.code == 0
    parts = {name: list(formats.read(tmp_path / "data" / f"{name}.jsonl")) for name in ("train", "dev", "test")}
    texts = {name: {document.text for document in rows} for name, rows in parts.items()}
    assert not texts["train"] & (texts["dev"] | texts["test"])
    ids = sorted(document.id for rows in parts.values() for document in rows)
    assert ids == sorted(document.id for document in formats.read(easy_files / "train.jsonl"))
    assert done.out.splitlines()[-1].startswith("next: spanwise init ")


def test_layers_of_tags_stay_nested_entities(command: Command, tmp_path: Path) -> None:
    (tmp_path / "all.conll").write_text(
        "".join(f"Bank B-ORG O\nof I-ORG O\nTown{n} I-ORG B-LOC\n\n" for n in range(20))
    )
    done = command(
        "split", tmp_path / "all.conll", "--tag-columns", "2,3", "--dev", 0.05, "--test", 0, "--out", tmp_path / "data"
    )
    assert done.code == 0, done.err
    assert "train: 19 documents in " in done.out
    assert "\ndev: 1 document in " in done.out
    found = {tuple(e.label for e in document.entities) for document in formats.read(tmp_path / "data" / "dev.jsonl")}
    assert found == {("ORG", "LOC")}


def test_json_counts_the_documents(command: Command, easy_files: Path, tmp_path: Path) -> None:
    done = command("split", easy_files / "train.jsonl", "--test", 0, "--out", tmp_path / "data", "--json")
    found = json.loads(done.out)
    assert list(found["splits"]) == ["train", "dev"]
    assert sum(split["documents"] for split in found["splits"].values()) == 64


def test_files_that_exist_are_not_replaced(command: Command, easy_files: Path, tmp_path: Path) -> None:
    (tmp_path / "dev.jsonl").write_text("mine")
    refusal = command("split", easy_files / "train.jsonl", "--out", tmp_path).refusal
    assert "dev.jsonl exists; give another --out" in refusal
    assert (tmp_path / "dev.jsonl").read_text() == "mine"


def test_no_share_at_all_is_refused(command: Command, easy_files: Path, tmp_path: Path) -> None:
    assert (
        "nothing to split"
        in command("split", easy_files / "train.jsonl", "--dev", 0, "--test", 0, "--out", tmp_path).refusal
    )
