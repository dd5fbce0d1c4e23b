"""`spanwise attention`: a table on the terminal, one JSON object, a picture, and one sentence for wrong input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from spanwise.analysis.attention import attention
from spanwise.corpora import Corpus
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline

Command = Callable[..., Any]
TEXT = "Mara met [bold]Bo & Lind ."


@pytest.fixture(scope="module")
def lear(make_pipeline: Callable[..., TorchPipeline], flat_corpus: Corpus, tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("attention") / "lear"
    Extractor(make_pipeline("lear", flat_corpus)).save_pretrained(folder)
    return folder


def test_every_word_is_listed_with_the_words_it_attends_to(command: Command, lear: Path) -> None:
    done = command("attention", lear, TEXT, "--label", "Place")
    assert (done.code, done.err) == (0, "")
    found = attention(Extractor.from_pretrained(lear), TEXT, "Mara", "Place")
    best = max(zip(found.values[0], found.columns, strict=True))
    (line,) = [line for line in done.out.splitlines() if "Mara" in line]
    assert f" {best[1]} {best[0]:.2f}, " in line
    assert "bold" in done.out


def test_control_characters_do_not_reach_the_terminal(command: Command, lear: Path) -> None:
    done = command("attention", lear, "Mara\x1b[2J met Bo", "--label", "Place")
    assert done.code == 0
    assert "Mara" in done.out
    assert "\x1b[2J" not in done.out


def test_json_holds_the_weights(command: Command, lear: Path) -> None:
    shown = json.loads(command("attention", lear, TEXT, "--label", "Place", "--word", "Bo", "--json").out)
    found = attention(Extractor.from_pretrained(lear), TEXT, "Bo", "Place")
    assert (shown["label"], tuple(shown["description"])) == ("Place", found.columns)
    assert shown["words"] == [{"word": "Bo", "weights": list(found.values[0])}]


def test_the_picture_is_written_with_the_text_as_text(command: Command, lear: Path, tmp_path: Path) -> None:
    target = tmp_path / "all.svg"
    done = command("attention", lear, TEXT, "--label", "Place", "--out", target)
    assert (done.code, done.err.replace("\n", "")) == (0, f"wrote {target}")
    words = {element.text for element in ElementTree.parse(target).iter()}  # noqa: S314
    assert {"Mara", "&", "towns", "countries"} <= words


def test_wrong_input_ends_with_one_sentence(command: Command, lear: Path, trained: Path, tmp_path: Path) -> None:
    def refused(model: Path, *options: object) -> str:
        return str(command("attention", model, TEXT, *options).refusal)

    assert refused(lear, "--label", "Beast").startswith("the model has no label 'Beast'; choose from Organization")
    assert refused(lear, "--label", "Place", "--word", "Ada").startswith("the text has no word 'Ada'")
    assert refused(trained, "--label", "Person").startswith("this seq-ner model has no attention over label texts")
    assert "folder" in refused(lear, "--label", "Place", "--out", tmp_path / "no" / "x.svg")
