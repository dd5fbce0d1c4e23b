"""Spans with several labels, from the first look at the data to predictions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise.inference.extractor import Extractor
from spanwise.recipe import Recipe

Command = Callable[..., Any]
SENTENCES = (  # [both labels], (Person alone)
    "[Mara] met (Bo) in Kell .",
    "(Bo) saw [Mara] again .",
    "[Ada Moss] left Kell .",
    "(Ivo) and [Mara] stayed .",
    "Nothing happened .",
    "(Nell) met [Ada Moss] there .",
)
SHARED = 5  # spans with both labels
OVERFIT = (
    *("train.epochs=60", "train.patience=null", "train.batch_size=2", "train.encoder_lr=3e-3", "train.task_lr=1e-2"),
    *("model.dropout=0.0", "bundle.dropout=0.0"),
)


def record(sentence: str) -> dict[str, Any]:
    text, entities, start = "", [], 0
    for character in sentence:
        if character in "[(":
            start = len(text)
        elif character in "])":
            labels = ("Person", "Winner") if character == "]" else ("Person",)
            entities += [{"start": start, "end": len(text), "label": label} for label in labels]
        else:
            text += character
    return {"text": text, "entities": entities}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for split in ("train", "dev"):
        lines = (json.dumps(record(sentence)) + "\n" for sentence in SENTENCES)
        (tmp_path / f"{split}.jsonl").write_text("".join(lines))
    return tmp_path


@pytest.fixture
def recipe(command: Command, files: Path) -> Path:
    """What `spanwise init` writes for the files."""
    done = command("init", files / "train.jsonl", files / "dev.jsonl", "--new", "--out", files / "recipe.yaml")
    assert done.code == 0
    return files / "recipe.yaml"


@pytest.fixture
def train(command: Command, recipe: Path, tiny_encoder: Path) -> Command:
    """train("model.multi_label=false"): the recipe on the tiny encoder, into `run`."""

    def call(*overrides: str) -> Any:
        settings = [part for override in (f"encoder.name={tiny_encoder}", *overrides) for part in ("--set", override)]
        return command("train", recipe, "--out", recipe.parent / "run", *settings)

    return call


def test_inspect_counts_spans_with_several_labels(command: Command, files: Path) -> None:
    done = command("inspect", files / "train.jsonl", files / "dev.jsonl", "--json")
    splits = json.loads(done.out)["splits"]
    assert {name: split["shared_spans"] for name, split in splits.items()} == {"train": SHARED, "dev": SHARED}


def test_init_writes_that_a_span_may_have_several_labels(recipe: Path) -> None:
    assert "multi_label: true" in recipe.read_text()
    loaded = Recipe.load(recipe)
    assert loaded.model.config.traits().multi_label
    assert not loaded.model.config.traits().nested


def test_train_says_what_is_lost_where_only_one_label_is_predicted(train: Command) -> None:
    done = train("model.multi_label=false", "model.nested=true", "train.epochs=1")
    assert done.code == 0
    assert (
        f"note: {2 * SHARED} training entities share their span with an entity of another label; the model predicts "
        "at most one label per span; set model.multi_label: true to predict all.\n"
    ) in done.err


def test_train_refuses_several_labels_for_a_flat_model_of_one_and_names_the_option(train: Command) -> None:
    refusal = train("model.multi_label=false").refusal
    assert "has spans with several labels, which this span-ner does not predict; set model.multi_label: true" in refusal
    refusal = train("model={name: seq-ner}", "bundle=null").refusal
    assert "has spans with several labels, which this seq-ner does not predict; choose a model that can" in refusal


def test_train_keeps_one_label_of_a_span_where_the_recipe_says_so(train: Command) -> None:
    done = train("model.multi_label=false", "data.overlaps=outermost", "train.epochs=1")
    assert done.code == 0
    assert f"note: {SHARED} training entities lie inside another entity and are dropped" in done.err


def labeled(document: dict[str, Any]) -> Counter[tuple[int, int, str]]:
    return Counter((entity["start"], entity["end"], entity["label"]) for entity in document["entities"])


def test_a_trained_model_predicts_every_label_of_a_span(command: Command, train: Command, files: Path) -> None:
    done = train(*OVERFIT)
    assert done.code == 0
    assert "share their span" not in done.err
    done = command("evaluate", files / "run", files / "dev.jsonl", "--json")
    assert json.loads(done.out)["entities"]["micro"]["f1"] == 1.0
    command("predict", files / "run", files / "dev.jsonl", files / "out.jsonl")
    found = [json.loads(line) for line in (files / "out.jsonl").read_text().splitlines()]
    assert list(map(labeled, found)) == [labeled(record(sentence)) for sentence in SENTENCES]
    assert all(0.5 <= entity["score"] <= 1 for document in found for entity in document["entities"])


def test_the_labels_of_a_span_have_probabilities_of_their_own(train: Command, files: Path) -> None:
    """Each is a sigmoid, so that those of one span may add up to more than one, and a threshold holds per label."""
    train(*OVERFIT)
    extractor = Extractor.from_pretrained(files / "run")
    text = record(SENTENCES[0])["text"]
    mara = [entity for entity in extractor(text).entities if entity.start == 0]
    assert [entity.label for entity in mara] == ["Person", "Winner"]
    assert sum(entity.score for entity in mara) > 1.5
    kept = extractor(text, threshold={"Winner": 1.0, "Person": 0.5}).entities
    assert [(entity.start, entity.label) for entity in kept] == [(0, "Person"), (9, "Person")]
    more = extractor(text, threshold=0.0).entities
    assert len(more) > len(extractor(text).entities)
    spans = {(entity.start, entity.end) for entity in more}
    assert not [(one, two) for one in spans for two in spans if one[0] < two[0] < one[1]]  # flat all the same
