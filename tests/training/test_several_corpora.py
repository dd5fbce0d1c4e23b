"""Training on several corpora at once, and from the weights of a trained model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from safetensors.torch import load_file, save_file

from spanwise import formats
from spanwise.errors import ModelError, RecipeError
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.integrity import checksum
from spanwise.recipe import Recipe
from spanwise.training.preparation import prepare
from spanwise.training.run import train

CHECKPOINT = "checkpoint.safetensors"


class StopError(Exception):
    """Ends a run from inside."""


@pytest.fixture(scope="module")
def recipe(easy_files: Path, tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The easy corpus as two corpora with labels of their own: one has a label for each of its own."""
    folder = tmp_path_factory.mktemp("corpora")
    documents = list(formats.read(easy_files / "train.jsonl"))
    for name, rows in (("news", documents[:32]), ("notes", documents[32:])):
        renamed = (
            row.with_annotations([type(e)(e.start, e.end, f"{name}_{e.label}") for e in row.entities]) for row in rows
        )
        formats.write(renamed, folder / f"{name}.jsonl")
    content = {
        "encoder": {"name": str(tiny_encoder)},
        "model": {"name": "span-ner", "scorer": "names", "max_width": 4},
        "data": {
            "corpora": [{"train": ["news.jsonl"]}, {"train": ["notes.jsonl"], "sample": 16}],
            "dev_share": 0.25,
        },
        "train": {"epochs": 3, "epoch_batches": 8, "batch_size": 4, "encoder_lr": 5e-3, "task_lr": 1e-2},
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def test_a_stopped_run_ends_like_one_that_was_left_alone(
    recipe: Path, memory: Any, metrics: Callable[[Path], list[dict[str, Any]]], tmp_path: Path
) -> None:
    loaded = Recipe.load(recipe, ["train.checkpoint_steps=1"])
    train(loaded, tmp_path / "whole")

    def stop(report: Any) -> None:
        if report.step == 11:
            raise StopError

    with pytest.raises(StopError):
        train(loaded, tmp_path / "stopped", memory(at_step=stop))
    assert (tmp_path / "stopped" / CHECKPOINT).exists()
    train(loaded, tmp_path / "stopped")
    one, other = (tmp_path / name / "model.safetensors" for name in ("whole", "stopped"))
    assert one.read_bytes() == other.read_bytes()
    (first, *_) = lines = metrics(tmp_path / "whole")
    assert lines == metrics(tmp_path / "stopped")
    assert first["dev"]["mean"] == pytest.approx(sum(first["dev"]["corpora"]) / 2)
    labels = Extractor.from_pretrained(tmp_path / "whole").schema.entity_names
    assert all(" " in label for label in labels)
    assert {label.partition(" ")[0] for label in labels} == {"news", "notes"}
    assert "- `news`: own files\n- `notes`: own files" in (tmp_path / "whole" / "README.md").read_text()


def test_a_model_with_fixed_labels_learns_from_one_corpus_only(recipe: Path) -> None:
    with pytest.raises(RecipeError, match="needs a span model with open labels"):
        prepare(Recipe.load(recipe, ["model.scorer=classes"]))


def test_training_starts_from_the_weights_that_fit(recipe: Path, memory: Any, tmp_path: Path, trained: Path) -> None:
    train(Recipe.load(recipe, ["train.epochs=1"]), tmp_path / "first")
    start = [f"train.start={tmp_path / 'first'}", "train.epochs=1", "train.encoder_lr=1e-9", "train.task_lr=1e-9"]
    listener = memory()
    train(Recipe.load(recipe, start), tmp_path / "second", listener)
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("first", "second"))
    assert all((one[name] - other[name]).abs().max() < 1e-4 for name in one)
    assert any(f"{len(one)} of {len(one)} weight tensors" in notice for notice in listener.notices)
    train(
        Recipe.load(
            recipe, [*start, "model.scorer=classes", "data.corpora=[]", f"data.train=[{recipe.parent / 'news.jsonl'}]"]
        ),
        tmp_path / "third",
        listener,
    )
    assert listener.notices[-1] != listener.notices[0]
    weights = load_file(tmp_path / "third" / "model.safetensors")
    name = next(name for name in weights if "word_embeddings" in name)
    assert (weights[name] - one[name]).abs().max() < 1e-4


def test_another_encoder_is_no_start(recipe: Path, trained: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    shutil.copytree(trained, odd)
    weights = load_file(odd / "model.safetensors")
    cut = {name: value[:-1].contiguous() if "word_embeddings" in name else value for name, value in weights.items()}
    save_file(cut, odd / "model.safetensors")
    with pytest.raises(ModelError, match="changed since the model was saved"):
        train(Recipe.load(recipe, [f"train.start={odd}"]), tmp_path / "run")
    config = json.loads((odd / "config.json").read_text())
    config["checksums"]["model.safetensors"] = checksum(odd / "model.safetensors")
    (odd / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="has another encoder than this recipe"):
        train(Recipe.load(recipe, [f"train.start={odd}"]), tmp_path / "run")
