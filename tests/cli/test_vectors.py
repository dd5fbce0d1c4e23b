"""`spanwise vectors`: tables on the terminal, one JSON object, files in a folder, and one sentence for wrong input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from spanwise import formats
from spanwise.analysis.representations import represent
from spanwise.corpora import Corpus
from spanwise.document import Document
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline

Command = Callable[..., Any]


@pytest.fixture(scope="module")
def deep(make_pipeline: Callable[..., TorchPipeline], nested_corpus: Corpus, tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("vectors") / "deep"
    Extractor(make_pipeline("dspert", nested_corpus, nested=True, max_width=4)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def gold(nested_corpus: Corpus, tmp_path_factory: Any) -> Path:
    file: Path = tmp_path_factory.mktemp("vectors") / "gold.jsonl"
    formats.write(nested_corpus.splits["train"], file)
    return file


def test_the_tables_are_printed(command: Command, deep: Path, gold: Path) -> None:
    done = command("vectors", deep, gold)
    assert (done.code, done.err) == (0, "")
    for name in ("Strongly overlapping", "Cosine within pos class", "Abs cosine between pos vs. neg", "Organization"):
        assert name in done.out


def test_json_holds_the_numbers_of_represent(command: Command, deep: Path, gold: Path) -> None:
    found = represent(Extractor.from_pretrained(deep), formats.read(gold), seed=3)
    done = command("vectors", deep, gold, "--json", "--seed", 3)
    assert json.loads(done.out) == json.loads(json.dumps(found.to_dict()))


def test_a_folder_gets_a_page_the_numbers_and_the_plot(
    command: Command, deep: Path, gold: Path, tmp_path: Path
) -> None:
    done = command("vectors", deep, gold, "--out", tmp_path / "new", "--json")
    assert done.code == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["pca.svg", "vectors.html", "vectors.json"]
    assert json.loads((tmp_path / "new" / "vectors.json").read_text()) == json.loads(done.out)
    assert ElementTree.parse(tmp_path / "new" / "pca.svg").getroot().tag.endswith("svg")  # noqa: S314
    assert "Strongly overlapping" in (tmp_path / "new" / "vectors.html").read_text()


def test_entities_without_a_candidate_are_reported(command: Command, deep: Path, tmp_path: Path) -> None:
    document = Document.from_words(["Mara", "of", "the", "old", "Bank"], [(0, 5, "Person"), (4, 5, "Place")])
    formats.write([document], tmp_path / "wide.jsonl")
    done = command("vectors", deep, tmp_path / "wide.jsonl")
    assert done.err == "note: 1 gold entity is no candidate and is left out.\n"


def test_wrong_input_ends_with_one_sentence(command: Command, trained: Path, deep: Path, gold: Path) -> None:
    assert command("vectors", trained, gold).refusal.startswith("this seq-ner model has no span vectors")
    assert "folder" in command("vectors", deep, gold, "--out", gold.parent / "no" / "folder").refusal
    assert "nope.jsonl" in command("vectors", deep, gold.parent / "nope.jsonl").refusal
