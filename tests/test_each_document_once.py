"""A document is validated once, segmented once and aligned once, however often a run looks at it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from spanwise.cli import main
from spanwise.document import Document
from spanwise.inference.extractor import Extractor
from spanwise.recipe import Recipe
from spanwise.text import alignment, words
from spanwise.text.examples import ExampleBuilder
from spanwise.training.run import train

SIZES = {"train": 12, "dev": 6, "test": 5}
NAMES = ("Mara", "Bo", "Ada Moss", "Nell")
EPOCHS = 4


@dataclass
class Counts:
    """How often each text was validated, segmented, aligned with its gold, and cut into examples."""

    validated: Counter[str] = field(default_factory=Counter)
    segmented: Counter[str] = field(default_factory=Counter)
    aligned: Counter[str] = field(default_factory=Counter)
    cut: Counter[str] = field(default_factory=Counter)
    cut_with_gold: Counter[str] = field(default_factory=Counter)


def texts(*splits: str) -> list[str]:
    """Of these splits; no two texts are equal."""
    return [f"{split} {n} : {NAMES[n % len(NAMES)]} left town ." for split in splits for n in range(SIZES[split])]


def once(*splits: str) -> dict[str, int]:
    return dict.fromkeys(texts(*splits), 1)


@pytest.fixture
def recipe(tiny_encoder: Path, tmp_path: Path) -> Recipe:
    """Raw texts without words, each with one entity."""
    for split in SIZES:
        rows = []
        for number, text in enumerate(texts(split)):
            name = NAMES[number % len(NAMES)]
            start = text.index(name)
            entity = {"start": start, "end": start + len(name), "label": "Person"}
            rows.append(json.dumps({"text": text, "entities": [entity]}) + "\n")
        (tmp_path / f"{split}.jsonl").write_text("".join(rows))
    sections: dict[str, Any] = {
        "encoder": {"name": str(tiny_encoder)},
        "model": {"name": "span-ner"},
        "bundle": {"name": "seq-ner"},
        "data": {split: [str(tmp_path / f"{split}.jsonl")] for split in SIZES},
        "train": {"epochs": EPOCHS, "batch_size": 4, "encoder_lr": 5e-3, "task_lr": 1e-2},
    }
    return Recipe.parse(sections)


def replace_everywhere(patch: pytest.MonkeyPatch, function: Any, counted: Any) -> None:
    """Replace a function under every name by which a module of the package has it."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "spanwise"]
    for module in modules:
        for name, value in list(vars(module).items()):
            if value is function:
                patch.setattr(module, name, counted)


def is_gold(document: Document) -> bool:
    return any(entity.score == 1.0 for entity in document.entities)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Counts]:
    """counts(): start to count."""

    def start() -> Counts:
        found = Counts()
        check, examples, gold_examples = Document._check, ExampleBuilder.examples, ExampleBuilder.gold_examples
        segment, word_spans = words.segment, alignment.word_spans

        def checked(document: Document) -> None:
            found.validated[document.text] += 1
            check(document)

        def counted_segment(text: str) -> Any:
            found.segmented[text] += 1
            return segment(text)

        def counted_spans(document: Document) -> Any:
            found.aligned[document.text] += is_gold(document)
            return word_spans(document)

        def cut(builder: ExampleBuilder, document: Document) -> Any:
            found.cut[document.text] += 1
            return examples(builder, document)

        def cut_with_gold(builder: ExampleBuilder, row: Any, **options: Any) -> Any:
            found.cut_with_gold[row.document.text] += 1
            return gold_examples(builder, row, **options)

        monkeypatch.setattr(Document, "_check", checked)
        monkeypatch.setattr(ExampleBuilder, "examples", cut)
        monkeypatch.setattr(ExampleBuilder, "gold_examples", cut_with_gold)
        replace_everywhere(monkeypatch, segment, counted_segment)
        replace_everywhere(monkeypatch, word_spans, counted_spans)
        return found

    return start


def test_training_looks_at_every_document_once(recipe: Recipe, counts: Callable[[], Counts], tmp_path: Path) -> None:
    found = counts()
    summary = train(recipe, tmp_path / "run")
    assert summary.steps == EPOCHS * SIZES["train"] // 4
    assert summary.dev_f1 is not None
    assert found.validated == once("train", "dev", "test")
    assert found.segmented == once("train", "dev")
    assert +found.aligned == once("train", "dev")


def test_examples_are_built_once_per_run_however_many_epochs_it_has(
    recipe: Recipe, counts: Callable[[], Counts], tmp_path: Path
) -> None:
    found = counts()
    train(recipe, tmp_path / "run")
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == EPOCHS
    assert found.cut == once("dev")
    assert found.cut_with_gold == once("train")


@pytest.fixture
def run(recipe: Recipe, tmp_path: Path) -> Path:
    train(recipe, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def evaluated(
    run: Path, counts: Callable[[], Counts], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Counts:
    """`spanwise evaluate`, which finds its test documents by the run's recipe."""
    found = counts()
    monkeypatch.setattr("sys.argv", ["spanwise", "evaluate", str(run), "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert json.loads(capsys.readouterr().out)["entities"]["micro"]["gold"] == SIZES["test"]
    return found


def test_evaluating_with_the_recipe_reads_and_cuts_every_document_once(evaluated: Counts) -> None:
    assert evaluated.validated == once("train", "dev", "test")
    assert evaluated.segmented == evaluated.cut == once("test")
    assert evaluated.cut_with_gold == {}


def test_evaluating_with_the_recipe_aligns_every_document_once(evaluated: Counts) -> None:
    assert +evaluated.aligned == once("test")


def test_reading_texts_segments_and_cuts_each_once(run: Path, counts: Callable[[], Counts]) -> None:
    extractor = Extractor.from_pretrained(run)
    found = counts()
    extractor(texts("dev", "test"))
    assert found.validated == found.segmented == found.cut == once("dev", "test")
    assert +found.aligned == {}
