"""`spanwise suggest`: what it writes, leaves out and refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spanwise import formats

Command = Callable[..., Any]


def test_the_chosen_texts_are_written_with_predictions(
    command: Command, trained: Path, easy_files: Path, tmp_path: Path
) -> None:
    out = tmp_path / "batch.jsonl"
    arguments = ("--labeled", easy_files / "dev.jsonl", "--out", out, "--top", 5)
    done = command("suggest", trained, easy_files / "train.jsonl", *arguments, "--device", "cpu", "--threads", 1)
    assert done.code == 0, done.err
    assert f"chose 5 texts of 64 by entropy: {out}" in done.out
    chosen = list(formats.read(out))
    known = {document.text for document in formats.read(easy_files / "dev.jsonl")}
    assert len(chosen) == 5
    assert not known & {document.text for document in chosen}
    assert any(document.entities for document in chosen)
    assert all("uncertainty" in document.metadata for document in chosen)


def test_lines_of_text_go_to_another_format_by_a_committee(command: Command, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "pool.txt").write_text("Bo left Kell .\nMara met Bo in Westmoor .\n\nNobody came .\n")
    arguments = ("--lines", "--top", 2, "--committee", trained, "--to", "conll", "--lossy", "--json", "--threads", 1)
    done = command("suggest", trained, tmp_path / "pool.txt", "--out", tmp_path / "batch.conll", *arguments)
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert (summary["chosen"], summary["by"]) == (2, "committee")
    assert len(list(formats.read(tmp_path / "batch.conll"))) == 2


def test_a_committee_without_members_is_refused(command: Command, trained: Path, tmp_path: Path) -> None:
    done = command("suggest", trained, tmp_path / "pool.txt", "--out", tmp_path / "a.jsonl", "--by", "committee")
    assert "--committee MODEL" in done.refusal


def test_a_format_that_cannot_be_written_is_refused_before_the_model_is_loaded(
    command: Command, tmp_path: Path
) -> None:
    done = command("suggest", tmp_path / "none", "pool.txt", "--out", tmp_path / "a.jsonl", "--to", "ace")
    assert "'ace' cannot be written" in done.refusal
