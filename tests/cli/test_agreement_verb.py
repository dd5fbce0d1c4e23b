"""`spanwise agreement` as a user meets it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise.document import Document, Entity
from spanwise.formats import read, write

Command = Callable[..., Any]
TEXT = "Ann left Halden."
ANN = Document(TEXT, entities=(Entity(0, 3, "PER"),))
BO = Document(TEXT, entities=(Entity(0, 3, "PER"), Entity(9, 15, "LOC")))


def region(start: int, end: int, label: str) -> dict[str, Any]:
    return {"type": "labels", "value": {"start": start, "end": end, "labels": [label]}}


def export(path: Path) -> Path:
    results = [[region(0, 3, "PER")], [region(0, 3, "PER"), region(9, 15, "LOC")], [region(0, 3, "PER")]]
    annotations = [{"completed_by": {"email": n}, "result": r} for n, r in zip("abc", results, strict=True)]
    path.write_text(json.dumps([{"id": 1, "data": {"text": TEXT}, "annotations": annotations}]))
    return path


def test_files_of_two_annotators(tmp_path: Path, command: Command) -> None:
    write([ANN, Document("Only Ann saw this.")], tmp_path / "ann.jsonl")
    write([BO], tmp_path / "bo.jsonl")
    done = command("agreement", tmp_path / "ann.jsonl", tmp_path / "bo.jsonl", "--out", tmp_path / "d.jsonl", "--json")
    found = json.loads(done.out)
    assert (done.code, found["annotators"], found["texts"]) == (0, ["ann", "bo"], 1)
    assert found["pairs"][0]["strict_f1"] == pytest.approx(2 / 3)
    assert found["labels"]["LOC"]["alpha"] == 0
    assert "1 text has one annotator only" in done.err
    (disputed,) = read(tmp_path / "d.jsonl")
    assert [e.score for e in disputed.entities] == [1, 0.5]


def test_one_file_with_several_annotators(tmp_path: Path, command: Command) -> None:
    done = command("agreement", export(tmp_path / "export.json"))
    assert done.code == 0
    for pair in ("a – b", "a – c", "b – c"):
        assert pair in done.out
    assert "1 text, 3 annotators" in done.out


def test_disagreements_go_back_to_the_tool_for_review(tmp_path: Path, command: Command) -> None:
    assert command("agreement", export(tmp_path / "export.json"), "--out", tmp_path / "d.jsonl").code == 0
    review = tmp_path / "review.json"
    asked = ("--to", "label-studio", "--model-version", "disagreements")
    assert command("convert", tmp_path / "d.jsonl", review, *asked).code == 0
    (document,) = read(review, annotator="disagreements")
    assert [e.score for e in document.entities] == [1, pytest.approx(1 / 3)]


def test_texts_without_a_second_annotator_are_refused(tmp_path: Path, command: Command) -> None:
    write([ANN], tmp_path / "ann.jsonl")
    write([Document("Another text.")], tmp_path / "bo.jsonl")
    refusal = command("agreement", tmp_path / "ann.jsonl", tmp_path / "bo.jsonl").refusal
    assert refusal.startswith("no text has the annotations of two annotators")


def test_convert_asks_for_an_annotator(tmp_path: Path, command: Command) -> None:
    path = export(tmp_path / "export.json")
    refusal = command("convert", path, tmp_path / "x.jsonl").refusal
    assert (
        "the text has annotations by several annotators ('a', 'b', 'c'); choose one of them with --annotator" in refusal
    )
    assert command("convert", path, tmp_path / "x.jsonl", "--annotator", "majority").code == 0
    assert [e.label for d in read(tmp_path / "x.jsonl") for e in d.entities] == ["PER"]
    assert command("convert", path, tmp_path / "y.jsonl", "--annotator", "b").code == 0
    assert [e.label for d in read(tmp_path / "y.jsonl") for e in d.entities] == ["PER", "LOC"]
