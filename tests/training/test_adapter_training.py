"""Training an adapter: it learns, its encoder does not change, and an interrupted run resumes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from spanwise.pipeline import folder as model_folder
from spanwise.pipeline.adapters import SharedEncoder
from spanwise.training.run import RunSummary

pytest.importorskip("peft")
LORA = ("encoder.adapter=lora", "encoder.lora_rank=4")


def test_an_adapter_learns_and_the_folder_holds_no_encoder(
    train_easy: Callable[..., RunSummary], trained: Path, tmp_path: Path
) -> None:
    summary = train_easy(tmp_path / "run", *LORA, "train.epochs=16", "encoder.lora_alpha=16")
    assert (summary.dev_f1 or 0) > 0.6
    stored, full = (load_file(folder / "model.safetensors") for folder in (tmp_path / "run", trained))
    assert not [name for name in stored if name.startswith("encoder.transformer.") and ".lora_" not in name]
    heads = {name for name in full if not name.startswith("encoder.transformer.")}
    assert heads == {name for name in stored if ".lora_" not in name}
    model_folder.load(tmp_path / "run")  # the checksum shows that the encoder did not change


def test_an_interrupted_run_ends_with_the_same_adapter(
    train_easy: Callable[..., RunSummary], memory: type[Any], tmp_path: Path
) -> None:
    train_easy(tmp_path / "whole", *LORA)

    def interrupt(report: Any) -> None:
        if report.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_easy(tmp_path / "parts", *LORA, listener=memory(at_epoch=interrupt))
    checkpoint = load_file(tmp_path / "parts" / "checkpoint.safetensors")
    assert not [name for name in checkpoint if "word_embeddings" in name]
    train_easy(tmp_path / "parts", *LORA)
    whole, parts = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "parts"))
    assert whole.keys() == parts.keys()
    assert all(whole[name].equal(parts[name]) for name in whole)


def test_an_adapter_for_some_of_the_layers_loads_onto_a_shared_encoder(
    train_easy: Callable[..., RunSummary], tiny_encoder: Path, tmp_path: Path
) -> None:
    train_easy(tmp_path / "run", *LORA, "encoder.layers=[1]", "train.epochs=1")
    shared = SharedEncoder.load(str(tiny_encoder))
    pipeline = model_folder.load(tmp_path / "run", encoder=shared)
    assert pipeline.model.encoder.transformer.config.num_hidden_layers == 1
    assert shared.transformer.config.num_hidden_layers > 1
