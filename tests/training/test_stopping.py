"""A run that is asked to stop saves where it is; it goes on from there to the same end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise.errors import TrainingStopped
from spanwise.training.trainer import Trainer

TrainEasy = Callable[..., Any]
Metrics = Callable[[Path], list[dict[str, Any]]]
CHECKPOINT = "checkpoint.safetensors"


def outcome(folder: Path, metrics: Metrics) -> tuple[bytes, list[dict[str, Any]]]:
    return (folder / "model.safetensors").read_bytes(), metrics(folder)


@pytest.mark.parametrize("batches", [0, 1, 5, 16, 17, 40])
def test_a_run_that_is_asked_to_stop_stops_after_the_step_and_resumes(
    train_easy: TrainEasy, memory: Any, metrics: Metrics, tmp_path: Path, batches: int
) -> None:
    """48 batches, two in each optimizer step, 16 in each epoch."""
    asked, folder = threading.Event(), tmp_path / "run"
    if batches == 0:
        asked.set()
    first = memory(at_step=lambda _: asked.set() if len(first.steps) == batches else None)
    with pytest.raises(TrainingStopped) as stopped:
        train_easy(folder, "train.accumulate=2", listener=first, stop=asked.is_set)
    steps = (batches + 1) // 2
    assert (stopped.value.step, stopped.value.steps, len(first.steps)) == (steps, 24, 2 * steps)
    assert stopped.value.checkpoint == folder / CHECKPOINT
    assert stopped.value.checkpoint.exists()
    assert f"stopped after step {steps} of 24; the checkpoint is {folder / CHECKPOINT}; " in str(stopped.value)
    second = memory()
    train_easy(folder, "train.accumulate=2", listener=second)
    train_easy(tmp_path / "alone", "train.accumulate=2")
    assert len(second.steps) == 48 - 2 * steps
    assert outcome(folder, metrics) == outcome(tmp_path / "alone", metrics)
    assert {path.name for path in folder.iterdir()} == {path.name for path in (tmp_path / "alone").iterdir()}


@pytest.mark.parametrize("bundle", [(), ("bundle={name: span-ner}",)], ids=["tagger", "bundle"])
def test_a_run_stops_while_dev_is_scored_and_resumes_with_the_scoring(
    train_easy: TrainEasy,
    memory: Any,
    metrics: Metrics,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bundle: tuple[str, ...],
) -> None:
    asked, folder, score = threading.Event(), tmp_path / "run", Trainer._score_dev

    def ask_and_score(self: Trainer) -> Any:
        asked.set()
        return score(self)

    monkeypatch.setattr(Trainer, "_score_dev", ask_and_score)
    with pytest.raises(TrainingStopped):
        train_easy(folder, *bundle, stop=asked.is_set)
    monkeypatch.undo()
    assert not (folder / "metrics.jsonl").exists()
    second = memory()
    train_easy(folder, *bundle, listener=second)
    train_easy(tmp_path / "alone", *bundle)
    assert len(second.steps) == 32
    assert outcome(folder, metrics) == outcome(tmp_path / "alone", metrics)


def test_a_request_after_the_last_epoch_finishes_the_run(train_easy: TrainEasy, memory: Any, tmp_path: Path) -> None:
    asked = threading.Event()
    listener = memory(at_epoch=lambda report: asked.set() if report.epoch == 3 else None)
    assert train_easy(tmp_path / "run", listener=listener, stop=asked.is_set).steps == 48
    assert not (tmp_path / "run" / CHECKPOINT).exists()


def test_training_from_python_leaves_signals_alone(train_easy: TrainEasy, memory: Any, tmp_path: Path) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before, during = [signal.getsignal(number) for number in numbers], []
    listener = memory(at_step=lambda _: during.append([signal.getsignal(number) for number in numbers]))
    train_easy(tmp_path / "run", "train.epochs=1", listener=listener, stop=lambda: False)
    assert all(handlers == before for handlers in during)
