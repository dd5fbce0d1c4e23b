"""`spanwise init`: a recipe for one's own files, with a model that fits them and the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from spanwise import formats
from spanwise.corpora import Corpus
from spanwise.corpora.selection import select
from spanwise.document import Document
from spanwise.recipe import Recipe
from spanwise.training.probe import Probe

Command = Callable[..., Any]


@pytest.fixture(autouse=True)
def no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is timed, so that tests stay quick; tests/training/test_probe.py times."""
    monkeypatch.setattr("spanwise.training.probe.probe", lambda recipe: Probe("fp32", 0.5, 200, 2))


def written(path: Path, documents: Iterable[Document]) -> Path:
    formats.write(documents, path)
    return path


def test_nested_data_gets_a_model_that_keeps_overlaps_and_says_why(
    command: Command, nested_corpus: Corpus, tmp_path: Path
) -> None:
    train = written(tmp_path / "train.jsonl", nested_corpus.splits["train"])
    dev = written(tmp_path / "dev.jsonl", nested_corpus.splits["dev"])
    done = command("init", train, dev, "--out", tmp_path / "recipe.yaml")
    assert done.code == 0
    assert "entities are nested" in done.out
    recipe = Recipe.load(tmp_path / "recipe.yaml")
    assert recipe.model.config.traits().nested
    assert (recipe.data.train, recipe.data.dev) == ((train,), (dev,))


def test_wide_flat_entities_get_a_tagger(command: Command, tmp_path: Path) -> None:
    wide = [Document.from_words(["word"] * 30, [(2, 22, "Quote")])] * 20
    train = written(tmp_path / "train.jsonl", wide)
    assert "a tagger has no width limit" in command("init", train, "--out", tmp_path / "r.yaml").out
    assert Recipe.load(tmp_path / "r.yaml").model.name == "seq-ner"


def test_entities_that_share_a_span_get_a_span_model_with_several_labels(command: Command, tmp_path: Path) -> None:
    shared = [Document.from_words(["word"] * 30, [(2, 22, "Quote"), (2, 22, "Speech"), (24, 25, "Name")])] * 20
    train = written(tmp_path / "train.jsonl", shared)
    done = command("init", train, "--out", tmp_path / "r.yaml")
    assert "# Why this model: 40 entities share their span with an entity of another label" in done.out
    assert "multi_label: true         # allow several labels per span" in done.out
    assert Recipe.load(tmp_path / "r.yaml").model.config.traits().multi_label


def test_the_recipe_trains_as_it_is(command: Command, flat_corpus: Corpus, tiny_encoder: Path, tmp_path: Path) -> None:
    train = written(tmp_path / "train.jsonl", flat_corpus.splits["train"])
    assert command("init", train, "--new", "--out", tmp_path / "recipe.yaml").code == 0
    tiny = ("--set", f"encoder.name={tiny_encoder}", "--set", "train.epochs=1")
    done = command("train", tmp_path / "recipe.yaml", *tiny, "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert (tmp_path / "run" / "model.safetensors").is_file()


def test_layers_of_tags_are_read_and_named_in_the_recipe(command: Command, tmp_path: Path) -> None:
    layers = "".join(f"Bank B-ORG O\nof I-ORG O\nTown{number} I-ORG B-LOC\n\n" for number in range(20))
    for name in ("train.conll", "test.conll"):
        (tmp_path / name).write_text(layers)
    files = (tmp_path / "train.conll", tmp_path / "test.conll")
    done = command("init", *files, "--new", "--tag-columns", "2,3", "--out", tmp_path / "recipe.yaml")
    assert done.code == 0, done.err
    assert "entities are nested" in done.out
    assert "# columns of CoNLL files that hold tags" in done.out
    recipe = Recipe.load(tmp_path / "recipe.yaml")
    assert recipe.data.tag_columns == (2, 3)
    data = select(recipe.data, seed=1)
    assert {tuple(e.label for e in row.document.entities) for row in data.split("test")} == {("ORG", "LOC")}


def test_text_that_the_default_encoder_cannot_read_is_reported(command: Command, tmp_path: Path) -> None:
    chinese = [Document.from_words("他在北京大学工作", [(2, 6, "Organization")], joiner="")] * 10
    train = written(tmp_path / "train.jsonl", chinese)
    assert "for cjk text give the folder or hub name" in command("init", train, "--out", tmp_path / "r.yaml").out


def test_an_existing_recipe_is_replaced_only_by_force(command: Command, flat_corpus: Corpus, tmp_path: Path) -> None:
    train = written(tmp_path / "train.jsonl", flat_corpus.splits["train"])
    (tmp_path / "r.yaml").write_text("mine")
    assert "--force" in command("init", train, "--out", tmp_path / "r.yaml").refusal
    assert (tmp_path / "r.yaml").read_text() == "mine"
    assert command("init", train, "--out", tmp_path / "r.yaml", "--force").code == 0


@pytest.mark.parametrize("content", [b"", b"\xe9t\xe9\n", b'{"text": 3}\n'])
def test_data_that_cannot_be_read_is_reported_and_no_recipe_written(
    command: Command, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "train.jsonl").write_bytes(content)
    assert "train.jsonl" in command("init", tmp_path / "train.jsonl", "--out", tmp_path / "r.yaml").refusal
    assert not (tmp_path / "r.yaml").exists()


def test_the_recipe_estimates_the_training_time_unless_asked_not_to(
    command: Command, flat_corpus: Corpus, tmp_path: Path
) -> None:
    train = written(tmp_path / "train.jsonl", flat_corpus.splits["train"])
    command("init", train, "--out", tmp_path / "a.yaml")
    command("init", train, "--out", tmp_path / "b.yaml", "--no-probe")
    estimate = "# Training takes about 2 min with 2 threads on this machine.\n"
    assert estimate in (tmp_path / "a.yaml").read_text()
    assert "Training takes" not in (tmp_path / "b.yaml").read_text()


def test_without_a_dev_file_a_share_is_split_off(command: Command, easy_files: Path, tmp_path: Path) -> None:
    assert command("init", easy_files / "train.jsonl", "--out", tmp_path / "recipe.yaml").code == 0
    recipe = Recipe.load(tmp_path / "recipe.yaml")
    data = select(recipe.data, seed=1)
    assert (len(data.train), len(data.split("dev"))) == (58, 6)


@pytest.mark.parametrize("labels", ["A", "AA", "ABC"])
def test_documents_that_cannot_be_split_get_a_recipe_that_trains(
    command: Command, tiny_encoder: Path, tmp_path: Path, labels: str
) -> None:
    documents = [Document.from_words([f"word{n}", "here"], [(0, 1, label)]) for n, label in enumerate(labels)]
    train = written(tmp_path / "train.jsonl", documents)
    done = command("init", train, "--new", "--out", tmp_path / "r.yaml")
    assert "note: the documents are too few to split dev off; the last epoch is kept." in done.err
    assert Recipe.load(tmp_path / "r.yaml").data.dev_share is None
    tiny = ("--set", f"encoder.name={tiny_encoder}", "--set", "train.epochs=1")
    done = command("train", tmp_path / "r.yaml", *tiny, "--out", tmp_path / "run")
    assert done.code == 0, done.err


def test_labels_with_too_few_examples_are_named(command: Command, flat_corpus: Corpus, tmp_path: Path) -> None:
    train = written(tmp_path / "train.jsonl", flat_corpus.splits["train"])
    done = command("init", train, "--out", tmp_path / "recipe.yaml")
    assert "note: fewer than 10 training examples, too few to learn: Organization (5)" in done.err
