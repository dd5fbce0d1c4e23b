"""A run that was stopped, even by kill -9, ends like one that was left alone; other folders are refused."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise.errors import EncoderError, ModelError, RecipeError
from spanwise.files import remove_partial_files
from spanwise.recipe import Recipe
from spanwise.training.run import train

TrainEasy = Callable[..., Any]
Metrics = Callable[[Path], list[dict[str, Any]]]
CHECKPOINT = "checkpoint.safetensors"
SLOW_TRAINING = """
import sys, time
from pathlib import Path
from spanwise.recipe import Recipe
from spanwise.training.reporting import NullListener
from spanwise.training.run import train

class Slow(NullListener):
    def step(self, report):
        time.sleep(0.02)

train(Recipe.load(sys.argv[1], sys.argv[3:]), Path(sys.argv[2]), Slow())
"""


class StopError(Exception):
    """Ends a run from inside."""


def outcome(folder: Path, metrics: Metrics) -> tuple[bytes, list[dict[str, Any]]]:
    return (folder / "model.safetensors").read_bytes(), metrics(folder)


@pytest.fixture
def kill_while_training(easy_recipe: Path) -> Callable[..., None]:
    """Start a run in a process of its own and kill it at a random point after its first checkpoint."""

    def kill(folder: Path, *overrides: str) -> None:
        before = (folder / CHECKPOINT).stat().st_mtime_ns if folder.exists() else 0
        command = [sys.executable, "-c", SLOW_TRAINING, str(easy_recipe), str(folder), *overrides]
        child = subprocess.Popen(command, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 120
        while not (folder / CHECKPOINT).exists() or (folder / CHECKPOINT).stat().st_mtime_ns == before:
            assert child.poll() is None, child.stderr and child.stderr.read().decode()
            assert time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(random.uniform(0, 0.3))  # noqa: S311
        os.kill(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL

    return kill


@pytest.mark.slow
def test_a_run_that_was_killed_ends_like_one_that_was_left_alone(
    train_easy: TrainEasy, kill_while_training: Callable[..., None], metrics: Metrics, tmp_path: Path
) -> None:
    overrides = ("train.epochs=3", "train.checkpoint_steps=5")
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    summary = train_easy(alone, *overrides)
    kill_while_training(killed, *overrides)
    kill_while_training(killed, *overrides)
    resumed = train_easy(killed, *overrides)
    assert outcome(killed, metrics) == outcome(alone, metrics)
    assert (resumed.dev_f1, resumed.best_epoch, resumed.steps) == (summary.dev_f1, summary.best_epoch, summary.steps)
    assert {path.name for path in killed.iterdir()} == {path.name for path in alone.iterdir()}


@pytest.mark.parametrize("stop_after", [5, 17, 30, 47], ids=lambda steps: f"{steps} of 48 steps")
def test_a_run_that_was_stopped_ends_like_one_that_was_left_alone(
    train_easy: TrainEasy, memory: Any, metrics: Metrics, tmp_path: Path, stop_after: int
) -> None:
    """A bundle, whose losses have several terms; checkpoints every fourth step and after every epoch of 16."""
    overrides = ("bundle={name: span-ner}", "train.accumulate=2", "train.checkpoint_steps=4")

    def stop(_: Any) -> None:
        if len(first.steps) == stop_after:
            raise StopError

    first, second = memory(at_step=stop), memory()
    train_easy(tmp_path / "alone", *overrides)
    with pytest.raises(StopError):
        train_easy(tmp_path / "stopped", *overrides, listener=first)
    train_easy(tmp_path / "stopped", *overrides, listener=second)
    assert outcome(tmp_path / "stopped", metrics) == outcome(tmp_path / "alone", metrics)
    checkpointed = max(stop_after // 8 * 8, stop_after // 16 * 16)  # batches
    assert len(second.steps) == 48 - checkpointed
    if checkpointed:
        assert second.notices[:1] == [f"resuming from step {checkpointed // 2} in epoch {checkpointed // 16 + 1}."]


def test_a_run_stopped_between_epochs_writes_no_line_twice(
    train_easy: TrainEasy, memory: Any, metrics: Metrics, tmp_path: Path
) -> None:
    def stop(report: Any) -> None:
        if report.epoch == 2:
            raise StopError

    with pytest.raises(StopError):
        train_easy(tmp_path / "run", listener=memory(at_epoch=stop))
    assert [line["epoch"] for line in metrics(tmp_path / "run")] == [1, 2]
    train_easy(tmp_path / "run")
    assert [line["epoch"] for line in metrics(tmp_path / "run")] == [1, 2, 3]


def test_a_checkpoint_is_there_during_the_run_and_gone_after_it(
    train_easy: TrainEasy, memory: Any, tmp_path: Path
) -> None:
    seen: list[bool] = []
    folder = tmp_path / "run"
    train_easy(folder, listener=memory(at_epoch=lambda _: seen.append((folder / CHECKPOINT).exists())))
    assert seen == [True, True, True]
    assert not (folder / CHECKPOINT).exists()


def stopped_run(train_easy: TrainEasy, memory: Any, folder: Path) -> Path:
    def stop(_: Any) -> None:
        raise StopError

    with pytest.raises(StopError):
        train_easy(folder, listener=memory(at_epoch=stop))
    return folder


@pytest.mark.parametrize("kept", [0, 7, 200, -1])
def test_a_damaged_checkpoint_is_refused(train_easy: TrainEasy, memory: Any, tmp_path: Path, kept: int) -> None:
    folder = stopped_run(train_easy, memory, tmp_path / "run")
    checkpoint = folder / CHECKPOINT
    checkpoint.write_bytes(checkpoint.read_bytes()[:kept])
    with pytest.raises(ModelError, match=r"checkpoint cannot be used \(.+\); delete it to start over"):
        train_easy(folder)


def test_a_finished_run_is_not_overwritten(easy_recipe: Path, trained: Path) -> None:
    before = {path.name: path.read_bytes() for path in trained.iterdir()}
    with pytest.raises(RecipeError, match="holds a finished run; give another folder, or start anew with --force"):
        train(Recipe.load(easy_recipe), trained)
    assert {path.name: path.read_bytes() for path in trained.iterdir()} == before


def test_a_folder_with_other_files_is_refused(train_easy: TrainEasy, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ada")
    with pytest.raises(RecipeError, match="is not empty and holds no spanwise run"):
        train_easy(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_stopped_run_of_another_recipe_is_refused_with_what_differs(
    train_easy: TrainEasy, memory: Any, tmp_path: Path
) -> None:
    folder = stopped_run(train_easy, memory, tmp_path / "run")
    with pytest.raises(RecipeError) as refused:
        train_easy(folder, "train.seed=9", "model.tagging=crf", "bundle={name: span-ner}")
    sentence = str(refused.value)
    assert "holds an interrupted run of another recipe (" in sentence
    assert 'model.tagging: "softmax" there, "crf" here; ' in sentence
    assert 'bundle: null there, {"name": "span-ner", "alpha": ' in sentence
    assert "train.epochs" not in sentence
    assert sentence.endswith("or start anew with --force (force=True in Python).")
    with pytest.raises(RecipeError, match=r"\(train\.seed: 6 there, 9 here\)"):
        train_easy(folder, "train.seed=9")
    other = r"\(model\.name: \"seq-ner\" there, \"span-ner\" here; train\.seed: 6 there, 9 here\)"
    with pytest.raises(RecipeError, match=other):
        train_easy(folder, "train.seed=9", "model={name: span-ner}")


def test_many_or_long_differences_are_cut(train_easy: TrainEasy, memory: Any, tmp_path: Path) -> None:
    folder = stopped_run(train_easy, memory, tmp_path / "run")
    names = ("batch_size", "patience", "accumulate", "checkpoint_steps", "epochs", "seed", "encoder_lr", "clip")
    with pytest.raises(RecipeError) as refused:
        train_easy(folder, f"data.leave_out=[{'x' * 900}]", *(f"train.{name}=7" for name in names))
    assert "; and 1 more)" in str(refused.value)
    assert len(str(refused.value)) < 1500
    assert "x" * 500 not in str(refused.value)


def test_a_run_whose_recipe_cannot_be_read_is_refused(train_easy: TrainEasy, memory: Any, tmp_path: Path) -> None:
    folder = stopped_run(train_easy, memory, tmp_path / "run")
    (folder / "recipe.yaml").write_text("model: {name: gone}\n")
    with pytest.raises(RecipeError, match=r"another recipe, which cannot be read \(.*unknown model 'gone'"):
        train_easy(folder)


def test_force_starts_anew_and_removes_only_what_a_run_wrote(
    train_easy: TrainEasy, memory: Any, metrics: Metrics, tmp_path: Path
) -> None:
    folder, alone = stopped_run(train_easy, memory, tmp_path / "run"), tmp_path / "alone"
    own = {"notes.txt": "mine", "README.md": "my own notes", "tensorboard/plan.txt": "mine"}
    (folder / "tensorboard").mkdir()
    (folder / "tensorboard" / "events.out.tfevents.1").touch()
    for name, text in own.items():
        (folder / name).write_text(text)
    listener = memory(at_step=lambda _: seen.append((folder / "README.md").read_text()))
    seen: list[str] = []
    train_easy(folder, "train.seed=9", listener=listener, force=True)
    train_easy(alone, "train.seed=9")
    assert outcome(folder, metrics) == outcome(alone, metrics)
    assert len(listener.steps) == 48
    assert set(seen) == {"my own notes"}  # until the card takes its place
    assert [(folder / name).read_text() for name in ("notes.txt", "tensorboard/plan.txt")] == ["mine", "mine"]
    names = {path.name for path in folder.iterdir()}
    assert names == {path.name for path in alone.iterdir()} | {"notes.txt", "tensorboard"}
    assert [path.name for path in (folder / "tensorboard").iterdir()] == ["plan.txt"]


def test_force_replaces_a_finished_run(train_easy: TrainEasy, memory: Any, tmp_path: Path) -> None:
    folder, listener = tmp_path / "run", memory(at_step=lambda _: left.append({p.name for p in folder.iterdir()}))
    left: list[set[str]] = []
    train_easy(folder, "train.epochs=1")
    train_easy(folder, "train.epochs=1", "train.seed=9", listener=listener, force=True)
    assert left[0] == {"environment.json", "recipe.yaml"}
    assert Recipe.load(folder / "recipe.yaml").train.seed == 9


def test_force_keeps_the_old_run_where_the_new_one_is_refused(
    train_easy: TrainEasy, memory: Any, tmp_path: Path
) -> None:
    folder = stopped_run(train_easy, memory, tmp_path / "run")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(EncoderError):
        train_easy(folder, "encoder.name=/no/such/folder", force=True)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["letter.txt", "recipe.yaml", "config.json"])
def test_force_takes_no_folder_without_a_run(train_easy: TrainEasy, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("model: {name: seq-ner}\n")
    with pytest.raises(RecipeError, match="is not empty and holds no spanwise run"):
        train_easy(tmp_path, force=True)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_in_the_folders_place_is_refused(train_easy: TrainEasy, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(RecipeError, match="is a file; give a folder"):
        train_easy(tmp_path / "run")


def test_an_empty_folder_is_taken(train_easy: TrainEasy, tmp_path: Path) -> None:
    assert train_easy(tmp_path, "train.epochs=1").steps == 16


def test_what_a_killed_process_left_half_written_is_removed(tmp_path: Path) -> None:
    for name in (".model.safetensors.1234.part", "model.safetensors", ".hidden"):
        (tmp_path / name).touch()
    remove_partial_files(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"model.safetensors", ".hidden"}


def test_a_process_that_was_killed_in_its_first_write_does_not_block_the_folder(
    train_easy: TrainEasy, tmp_path: Path
) -> None:
    (tmp_path / ".environment.json.0123.part").mkdir()
    train_easy(tmp_path, "train.epochs=1")
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(("minutes", "saved"), [("1e-9", True), ("5", False), ("null", False)])
def test_checkpoints_are_written_by_time(
    train_easy: TrainEasy, memory: Any, metrics: Metrics, tmp_path: Path, minutes: str, saved: bool
) -> None:
    """After the step that crosses the time; a run that goes on from there ends like one that was left alone."""
    folder, override = tmp_path / "run", f"train.checkpoint_minutes={minutes}"

    def stop(_: Any) -> None:
        if len(listener.steps) == 6:
            raise StopError

    listener, second = memory(at_step=stop), memory()
    with pytest.raises(StopError):
        train_easy(folder, override, listener=listener)
    assert (folder / CHECKPOINT).exists() == saved
    train_easy(folder, override, listener=second)
    assert len(second.steps) == 48 - 5 * saved
    train_easy(tmp_path / "alone", override)
    assert outcome(folder, metrics) == outcome(tmp_path / "alone", metrics)
