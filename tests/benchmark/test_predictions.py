"""Predictions beside results: without text, found again, and refused for another corpus."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spanwise import benchmark, corpora
from spanwise.benchmark.predictions import predictions_path, read_predictions, write_predictions
from spanwise.benchmark.scoring import scores
from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.errors import FormatError, InputError

GOLD = (Document("Ann left Kell", id="a"), Document("Nobody", id="b"))
FOUND = (
    Document(
        "Ann left Kell",
        entities=(Entity(0, 3, "PER", 0.75), Entity(9, 13, "LOC", 0.5, head=Offsets(9, 13))),
        relations=(Relation(0, 1, "left", 0.25),),
        id="a",
    ),
    Document("Nobody", id="b"),
)


def test_predictions_are_read_back_onto_the_documents(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "one.jsonl.gz"
    write_predictions(path, FOUND)
    assert read_predictions(path, GOLD) == list(FOUND)


def test_the_file_holds_no_text_of_the_corpus(tmp_path: Path) -> None:
    write_predictions(tmp_path / "one.jsonl.gz", FOUND)
    stored = gzip.decompress((tmp_path / "one.jsonl.gz").read_bytes()).decode()
    assert not any(word in stored for word in ("Ann", "Kell", "Nobody"))


def test_predictions_on_another_corpus_are_refused(tmp_path: Path) -> None:
    write_predictions(tmp_path / "one.jsonl.gz", FOUND)
    with pytest.raises(InputError, match="document 'a' is not the one that was scored"):
        read_predictions(tmp_path / "one.jsonl.gz", (Document("Ann went home", id="a"), GOLD[1]))
    with pytest.raises(InputError, match="2 predictions for 1 document"):
        read_predictions(tmp_path / "one.jsonl.gz", GOLD[:1])


@pytest.mark.parametrize(
    "content", [None, b"no gzip", gzip.compress(b"no json", mtime=0)], ids=["none", "plain", "gzip"]
)
def test_missing_or_damaged_predictions_are_an_error(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "one.jsonl.gz").write_bytes(content)
    with pytest.raises(FormatError, match="no recorded predictions"):
        read_predictions(tmp_path / "one.jsonl.gz", GOLD)


def test_recorded_predictions_give_the_recorded_scores(suites: Any, easy: None, tmp_path: Path) -> None:
    (result, _) = benchmark.run_suite(benchmark.plan("tiny", "easy", 1), tmp_path / "out")
    corpus = corpora.load("easy")
    gold = corpus.split("test")
    predicted = read_predictions(predictions_path(tmp_path / "out", result), gold)
    assert scores(gold, predicted, corpus.schema)["entities"] == result["entities"]


def test_a_suite_can_be_scored_on_dev_beside_the_same_runs_on_test(
    suites: Any, easy: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = corpora.load("easy")
    few = replace(whole, splits={**whole.splits, "dev": whole.splits["dev"][:3]})
    monkeypatch.setattr(corpora, "load", lambda _: few)
    suites("on-dev", split="dev")
    suites("on-test")
    found = {}
    for name in ("on-dev", "on-test"):
        (run, _) = benchmark.plan(name, "easy", 1)
        (found[name],) = benchmark.run_suite([run], tmp_path / "out")
    assert [found[name]["split"] for name in ("on-dev", "on-test")] == ["dev", "test"]
    assert len(found["on-dev"]["documents"]["entities"]) == 3
    assert len(found["on-test"]["documents"]["entities"]) == len(few.splits["test"])
    assert benchmark.summarize("on-dev", "easy", [found["on-dev"]]).title == "Tiny, easy dev"
