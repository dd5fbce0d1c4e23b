"""What a run shows: a live line of 80 columns on a terminal, whole lines at short intervals in a log."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from spanwise.metrics import Score
from spanwise.training.display import LOG_SECONDS, LiveDisplay
from spanwise.training.reporting import ENTITY_SCORE, JOINT_SCORE, DevScore, EpochReport, StepReport, TrainingPlan
from spanwise.training.status import RunStatus, duration
from spanwise.training.trainer import Trainer

ENTITIES = Score.from_counts(correct=3, predicted=4, gold=4)
RELATIONS = Score.from_counts(correct=1, predicted=4, gold=2)
LONG = TrainingPlan((123_456,) * 100, accumulate=1, epoch=98, batch=123_000, step=98 * 123_456 + 123_000, score="x")


def log() -> Console:
    """Not a terminal: rich takes it for 80 columns wide."""
    return Console(file=io.StringIO(), width=80, highlight=False)


def lines(console: Console) -> list[str]:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def rendered(display: LiveDisplay) -> str:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    console.print(display.progress)
    (line,) = lines(console)
    return line


@pytest.mark.parametrize(
    ("plan", "report", "shown"),
    [
        (
            TrainingPlan((60, 60), score="x"),
            StepReport(0, 29, 0.4123, {"entities": 0.3, "relations": 0.1}, 500, 0.5, 30),
            ["epoch 1/2", "30/120", "loss 0.412", "1,000 pieces/s", "45 s left"],
        ),
        (
            LONG,
            StepReport(98, 123_000, 1234.5678, {"entities": 0.3}, 1_234_567, 1.0, 98 * 123_456 + 123_001),
            ["epoch 99/100", "12,221,689/12,345,600", "loss 1234.568", "1,234,567 pieces/s", "34 h 25 left"],
        ),
    ],
    ids=["short", "long"],
)
def test_the_live_line_fits_80_columns(plan: TrainingPlan, report: StepReport, shown: list[str]) -> None:
    display = LiveDisplay(log())
    assert "preparing" in rendered(display)
    display.start(plan)
    display.step(report)
    line = rendered(display)
    assert len(line) <= 80
    assert re.sub(r"[━╺╸ ]+", " ", line).strip() == " ".join(shown)


def test_the_live_line_says_when_dev_is_scored() -> None:
    display = LiveDisplay(log())
    display.start(TrainingPlan((2, 2), score=ENTITY_SCORE))
    display.step(StepReport(0, 0, 0.5, {}, 10, 1.0, 1))
    assert "scoring dev" not in rendered(display)
    display.step(StepReport(0, 1, 0.5, {}, 10, 1.0, 2))
    assert "scoring dev" in rendered(display)
    display.epoch(EpochReport(1, {"loss": 0.5}, DevScore(ENTITIES), True, 3.0, 1.0))
    assert "scoring dev" not in rendered(display)
    assert "epoch 2/2" in rendered(display)


@pytest.mark.parametrize(
    ("dev", "score"),
    [(DevScore(ENTITIES), "dev F1 of entities 75.00"), (DevScore(ENTITIES, RELATIONS), "RE+ 33.33, mean 54.17")],
)
def test_the_line_of_an_epoch_fits_80_columns_on_a_terminal(dev: DevScore, score: str) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None, highlight=False)
    display = LiveDisplay(console)
    display.start(TrainingPlan((8,) * 20, score=ENTITY_SCORE))
    display.epoch(EpochReport(12, {"loss": 0.4123, "entities": 0.4, "relations": 0.1}, dev, True, 35.2, 2.0))
    line = lines(console)[-1]
    assert line.startswith("epoch 12/20  loss 0.412  dev")
    assert line.endswith(f"{score} (best)  35 s")
    assert len(line) <= 80


@pytest.mark.parametrize(
    ("score", "line"),
    [
        (ENTITY_SCORE, "training: 2 epochs, 4 steps; keeps the best dev F1 of entities"),
        (JOINT_SCORE, "training: 2 epochs, 4 steps; keeps the best mean of entity F1 and RE+ F1"),
        (None, "training: 2 epochs, 4 steps; keeps the last epoch (no dev data)"),
    ],
)
def test_the_score_that_selects_the_model_is_named(score: str | None, line: str) -> None:
    console = log()
    LiveDisplay(console).start(TrainingPlan((3, 3), accumulate=2, score=score))
    assert lines(console) == [line]


def test_the_first_line_of_a_long_run_fits_80_columns() -> None:
    console = log()
    LiveDisplay(console).start(TrainingPlan((120,) * 100, score=JOINT_SCORE))
    (line,) = lines(console)
    assert line.startswith("training: 100 epochs, 12,000 steps; ")
    assert len(line) <= 80


def test_a_log_has_a_line_at_short_intervals_with_percent_and_time_left() -> None:
    assert LOG_SECONDS < 30
    console = log()
    with LiveDisplay(console, log_seconds=0.1) as display:
        display.start(TrainingPlan((1000,) * 4, score=ENTITY_SCORE))
        display.step(StepReport(0, 999, 1234.5678, {}, 123_456, 1.5, 1000))
        display.epoch(EpochReport(1, {"loss": 1234.5678}, DevScore(ENTITIES, RELATIONS), True, 12_345.0, 60.0))
        display.step(StepReport(1, 199, 1234.5678, {}, 123_456, 1.5, 1200))
        time.sleep(0.35)
    written = lines(console)
    assert len(written[1]) > 80  # a record is one line, however long
    assert written[1].startswith(
        "epoch 1/4  loss 1234.568  dev: entities 75.00, RE+ 33.33, mean 54.17 (best)  12,345 s"
    )
    assert written[1].endswith("78 min left")
    assert 2 <= len(written[2:]) <= 4
    for line in written[2:]:
        assert line == "epoch 2/4  30% of the run  step 1,200/4,000  loss 1234.568  82,304 pieces/s  73 min left"


def test_a_log_goes_on_while_dev_is_scored_and_before_the_first_step() -> None:
    console = log()
    with LiveDisplay(console, log_seconds=0.1) as display:
        time.sleep(0.15)
        display.start(TrainingPlan((2,), score=ENTITY_SCORE))
        time.sleep(0.15)
        display.step(StepReport(0, 1, 0.5, {}, 10, 0.1, 2))
        time.sleep(0.15)
    found = lines(console)
    assert found[0] == "preparing the data and the model"
    assert "epoch 1/1  0% of the run  step 0/2  time left unknown" in found
    assert "epoch 1/1  100% of the run  step 2/2  loss 0.500  scoring dev  0 s left" in found


def test_a_terminal_gets_no_log_lines() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    with LiveDisplay(console, log_seconds=0.01) as display:
        display.start(TrainingPlan((2,)))
        time.sleep(0.1)
    assert "of the run" not in "".join(lines(console))


def test_time_left_counts_every_batch_and_every_scoring_of_the_run() -> None:
    """Three epochs of different length, the first two batches done before."""
    status = RunStatus(TrainingPlan((4, 6, 10), epoch=0, batch=2, step=2, score=ENTITY_SCORE))
    assert status.time_left == "time left unknown"
    status.step(StepReport(0, 2, 0.5, {}, 10, 1.0, 3))
    assert status.time_left == "17 s left"
    status.step(StepReport(0, 3, 0.5, {}, 10, 3.0, 4))
    assert status.time_left == "32 s left"  # two seconds for each of 16
    status.epoch(EpochReport(1, {}, DevScore(ENTITIES), True, 9.0, 5.0))
    assert status.time_left == "42 s left"  # and five for each of two epochs
    assert status.percent == 20


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (99, "99 s"), (100, "2 min"), (5_960, "99 min"), (6_300, "1 h 45"), (11_100, "3 h 05")],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text
    assert len(duration(1e7)) <= 11


def test_seconds_include_the_scoring_of_dev(
    train_easy: Callable[..., Any], memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(self: Trainer) -> DevScore:
        time.sleep(0.3)
        return DevScore(ENTITIES)

    reports: list[EpochReport] = []
    monkeypatch.setattr(Trainer, "_score_dev", slow)
    listener = memory(at_epoch=reports.append)
    summary = train_easy(tmp_path / "run", "train.epochs=2", listener=listener)
    trained = sum(step.seconds for step in listener.steps)
    assert summary.seconds == pytest.approx(trained + sum(report.closing for report in reports), abs=0.02)
    assert all(report.closing >= 0.3 for report in reports)
    assert reports[1].seconds == pytest.approx(summary.seconds, abs=0.01)


def test_the_plan_holds_the_steps_that_are_done(train_easy: Callable[..., Any], memory: Any, tmp_path: Path) -> None:
    """64 documents in batches of 5: the last of 13 batches closes a smaller step."""
    listener = memory()
    summary = train_easy(tmp_path / "run", "train.batch_size=5", "train.accumulate=2", listener=listener)
    assert [step.step for step in listener.steps[:13]] == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7]
    assert TrainingPlan((13,) * 3, 2).steps == summary.steps == listener.steps[-1].step == 21
