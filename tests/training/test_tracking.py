"""What a run records in MLflow and in Weights & Biases; the curves of TensorBoard are in test_training."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spanwise.errors import RecipeError
from spanwise.recipe import Recipe
from spanwise.renamed import RenamedWarning
from spanwise.training import tracking
from spanwise.training.run import RunSummary

TrainEasy = Callable[..., RunSummary]


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    module = pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    module.set_tracking_uri((tmp_path / "mlruns").as_uri())
    yield module
    module.set_tracking_uri(None)


def interrupt_after(epoch: int) -> Callable[[Any], None]:
    def stop(report: Any) -> None:
        if report.epoch == epoch:
            raise KeyboardInterrupt

    return stop


def test_mlflow_records_options_losses_and_scores(train_easy: TrainEasy, mlflow: Any, tmp_path: Path) -> None:
    summary = train_easy(tmp_path / "run", "train.tracker=mlflow", "train.epochs=2")
    (run,) = mlflow.MlflowClient().search_runs([mlflow.get_experiment_by_name("spanwise").experiment_id])
    assert run.info.run_name == "run"
    assert run.info.status == "FINISHED"
    assert (run.data.params["model.name"], run.data.params["train.epochs"]) == ("seq-ner", "2")
    assert run.data.metrics["dev/f1"] == pytest.approx(summary.dev_f1)
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss/total")
    assert [row.step for row in history] == list(range(1, 33))


def test_an_interrupted_run_goes_on_in_the_same_run_of_mlflow(
    train_easy: TrainEasy, mlflow: Any, memory: type[Any], tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        train_easy(tmp_path / "run", "train.tracker=mlflow", listener=memory(at_epoch=interrupt_after(1)))
    assert mlflow.active_run() is None
    train_easy(tmp_path / "run", "train.tracker=mlflow")
    (run,) = mlflow.MlflowClient().search_runs([mlflow.get_experiment_by_name("spanwise").experiment_id])
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "epoch")
    assert [row.value for row in history] == [2, 3]  # the listener ended the first session before it was recorded


def test_wandb_records_offline(train_easy: TrainEasy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="the extra wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    train_easy(tmp_path / "run", "train.tracker=wandb", "train.epochs=1")
    identifier = json.loads((tmp_path / "run" / "tracker.json").read_text())["wandb"]
    (record,) = (tmp_path / "wandb").glob(f"offline-run-*-{identifier}/run-{identifier}.wandb")
    content = record.read_bytes()
    assert all(name in content for name in (b"loss/total", b"dev/f1", b"model.name"))


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_tracker_that_is_not_installed_is_reported(
    train_easy: TrainEasy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(tracking, "find_spec", lambda module: None)
    with pytest.raises(RecipeError, match=rf"spanwise\[{name}\]"):
        train_easy(tmp_path / "run", f"train.tracker={name}")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("old", "new"), [("true", "tensorboard"), ("false", None)])
def test_the_old_key_still_works_and_warns(easy_recipe: Path, old: str, new: str | None) -> None:
    with pytest.warns(RenamedWarning, match=r"train.tensorboard is deprecated; use train.tracker"):
        recipe = Recipe.load(easy_recipe, [f"train.tensorboard={old}"])
    assert recipe.train.tracker == new
