"""`spanwise demo`: train, score, read an unseen text, write the page; here with a tiny encoder."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from spanwise import corpora
from spanwise.demo import demo_folder, unseen_text
from spanwise.demo.introduction import as_json, introduction, shortest
from spanwise.document import Document
from spanwise.inference.extractor import Extractor
from spanwise.recipe import Recipe

TRAINED = "SPANWISE_DEMO"
"""Names the folder that `spanwise demo` wrote; without it, the tests of its model are skipped."""
LEFT = "Femke Addo left the University of Lindqvale for Cobaltine Freight in March 2021."
CHECKS: dict[str, tuple[set[str], set[str]]] = {
    LEFT: (
        {
            "Femke Addo: Person",
            "University of Lindqvale: Organization",
            "Lindqvale: Place",
            "Cobaltine Freight: Organization",
            "March 2021: Date",
        },
        {
            "Femke Addo works_for University of Lindqvale",
            "Femke Addo works_for Cobaltine Freight",
            "University of Lindqvale located_in Lindqvale",
        },
    ),
    "Femke Addo works for Cobaltine Freight.": (
        {"Femke Addo: Person", "Cobaltine Freight: Organization"},
        {"Femke Addo works_for Cobaltine Freight"},
    ),
    "Tomasz Adeyemi lives in Brackenmouth.": ({"Tomasz Adeyemi: Person", "Brackenmouth: Place"}, set()),
    "Ingrid Castellanos, a nurse from Port Halewyn, joined the Merriden Group in 2019.": (
        {
            "Ingrid Castellanos: Person",
            "nurse: Role",
            "Port Halewyn: Place",
            "Merriden Group: Organization",
            "2019: Date",
        },
        {"Ingrid Castellanos holds nurse", "Ingrid Castellanos works_for Merriden Group"},
    ),
    "Last week Dr Amina Teixeira-Holt met Jonas Whitlock in Velsmar.": (
        {"Last week: Date", "Dr Amina Teixeira-Holt: Person", "Jonas Whitlock: Person", "Velsmar: Place"},
        set(),
    ),
}


def test_the_introduction_shows_labeled_input_and_expected_output() -> None:
    corpus = corpora.load("demo")
    console = Console(file=StringIO(), width=80)
    for part in introduction(corpus):
        console.print(part)
    printed = console.file.getvalue()
    assert all(len(line.rstrip()) <= 80 for line in printed.splitlines())
    record = json.loads(re.search(r"^\{.*?^ .*?\]\}$", printed, re.DOTALL | re.MULTILINE)[0])
    assert record["text"] == shortest(corpus.split("train"), relations=1).text
    assert record["entities"]
    assert record["relations"]
    assert shortest(corpus.split("test"), relations=2).text in printed
    assert f"{len(corpus.split('train'))} sentences" in printed


def test_a_labeled_document_is_shown_as_the_native_format_writes_it() -> None:
    (document, *_) = (d for d in corpora.load("demo").split("test") if len(d.relations) > 2)
    record = json.loads(as_json(document))
    (line,) = (line for line in _test_lines() if line["id"] == document.id)
    assert record == {key: line[key] for key in ("text", "entities", "relations")}


def _test_lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (demo_folder() / "test.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_checked_sentences_hold_no_name_of_the_corpus() -> None:
    capitals = {word for text in CHECKS for word in re.findall(r"[A-Z]\w+", text)}
    known = {"University", "Group", "Dr", "Last", "March", "Port"}
    read = {
        word for split in corpora.load("demo").splits.values() for d in split for word in re.findall(r"\w+", d.text)
    }
    assert capitals & read <= known


@pytest.fixture(scope="module")
def trained() -> Extractor:
    """The model of the demo, trained beforehand: `spanwise demo --out demo`, then SPANWISE_DEMO=demo."""
    if TRAINED not in os.environ:
        pytest.skip(f"{TRAINED} names no folder that `spanwise demo` wrote")
    return Extractor.from_pretrained(Path(os.environ[TRAINED]) / "model")


@pytest.mark.slow
@pytest.mark.parametrize("text", CHECKS)
def test_the_trained_demo_reads_new_people_and_places(trained: Extractor, text: str) -> None:
    assert _read(trained(text)) == CHECKS[text]


@pytest.mark.slow
def test_the_trained_demo_finds_the_people_of_the_unseen_text(trained: Extractor) -> None:
    paragraphs = trained(unseen_text().split("\n\n"))
    people = [document.text_of(e) for document in paragraphs for e in document.entities if e.label == "Person"]
    assert people == ["Femke Addo", "Rurik Okonjo-Wells", "Juna Philbrook"]


def _read(document: Document) -> tuple[set[str], set[str]]:
    names = [document.text_of(entity) for entity in document.entities]
    entities = {f"{name}: {entity.label}" for name, entity in zip(names, document.entities, strict=True)}
    return entities, {f"{names[r.head]} {r.label} {names[r.tail]}" for r in document.relations}


@pytest.mark.slow
def test_the_demo_scores_and_shows_an_unseen_text(
    command: Callable[..., Any], tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = Recipe.load
    tiny = (f"encoder.name={tiny_encoder}", "train.epochs=2", "train.encoder_lr=0.001")
    monkeypatch.setattr("spanwise.demo.showcase.Recipe.load", lambda path: load(path, tiny))
    done = command("demo", "--out", tmp_path / "demo")
    assert done.code == 0, done.err
    assert done.err.index("learns from labeled text") < done.err.index("epoch 1/2")
    assert "micro" in done.out
    assert f"predict {tmp_path / 'demo' / 'model'} notes.txt\n" in done.out
    assert "init train.jsonl dev.jsonl" in done.out
    assert "University of Lindqvale" in done.out
    page = (tmp_path / "demo" / "demo.html").read_text(encoding="utf-8")
    assert "Lindqvale" in page
    again = command("demo", "--out", tmp_path / "demo", "--json")  # takes up what is trained
    assert "already holds a trained model" in again.err
    wanted = {"boundaries", "entities", "nesting", "relations", "widths", "page", "model"}
    assert set(json.loads(again.out)) == wanted
