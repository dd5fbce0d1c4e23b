"""`spanwise benchmark`: a suite in, a table out, a stopped one goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise import benchmark, corpora
from spanwise.benchmark import runs as running
from spanwise.benchmark import suite as suite_files

Command = Callable[..., Any]


@pytest.fixture
def run(
    command: Command, tmp_path: Path, tiny_encoder: Path, easy_files: Path, monkeypatch: pytest.MonkeyPatch
) -> Command:
    """run("--json"): a suite of one variant on the easy corpus, in this process."""
    monkeypatch.setattr(suite_files, "SUITES", tmp_path)
    (tmp_path / "tiny.yaml").write_text(
        "title: Tiny\nvariants: {tags: {recipe: seq-ner}}\npaper: {demo: {tags: [50.0, 60.0, 54.55]}}\n"
    )
    corpus = corpora.from_files(*([easy_files / f"{split}.jsonl"] for split in ("train", "dev", "test")))
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name: corpus if name == "demo" else load(name))
    monkeypatch.setattr(
        running, "_execute_all", lambda runs, folder, _, keep: (benchmark.execute(r, folder, 1, keep) for r in runs)
    )

    def call(*arguments: str, suite: str = "tiny", corpus: str = "demo") -> Any:
        quick = ("--set", f"encoder.name={tiny_encoder}", "--set", "train.epochs=1")
        return command("benchmark", suite, "--corpus", corpus, "--out", tmp_path / "out", *quick, *arguments)

    return call


def test_json_is_one_object_with_the_rows(run: Command, tmp_path: Path) -> None:
    done = run("--seeds", "2", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert (found["suite"], found["corpus"]) == ("tiny", "demo")
    (row,) = found["rows"]
    assert (row["variant"], row["runs"], row["paper"]) == ("tags", 2, [50.0, 60.0, 54.55])
    assert set(row["mean"]) == set(row["std"]) == {"precision", "recall", "f1"}
    assert "tags, seed 1: test F1 " in done.err
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 2


def test_the_table_comes_at_once_when_all_is_done(run: Command) -> None:
    first = run()
    assert (first.code, first.err.count("test F1")) == (0, 1)
    second = run()
    assert (second.code, second.out, second.err.count("test F1")) == (0, first.out, 0)
    assert "50.00 / 60.00 / 54.55" in " ".join(second.out.split())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"suite": "nope"}, "there is no suite 'nope'; there are tiny."),
        ({"corpus": "nope"}, "there is no corpus 'nope'; known are "),
    ],
)
def test_an_unknown_name_is_told(run: Command, options: dict[str, str], sentence: str) -> None:
    assert run(**options).refusal.startswith(sentence)


def test_a_wrong_setting_is_told(run: Command, tmp_path: Path) -> None:
    assert run("--set", "train.epoch=1").refusal == "suite variant 'tags': train.epoch: there is no such key."
    assert not (tmp_path / "out").exists()
