"""The timed probe: a few real steps in a child process, and what follows from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.training import probe as probing
from spanwise.training.probe import Probe, duration, probe


def test_a_recipe_is_timed_in_child_processes(easy_recipe: Path) -> None:
    found = probe(easy_recipe)
    assert found is not None
    assert found.precision in ("fp32", "bf16")
    assert 0 < found.seconds_per_step < 10
    assert found.steps == 16 * 16  # 64 sentences in batches of 4, 16 epochs
    assert found.threads == 1


def test_a_recipe_that_cannot_be_trained_has_no_estimate(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text("model: {name: seq-ner}\ndata: {train: [nothing.jsonl]}\n")
    assert probe(tmp_path / "recipe.yaml") is None


@pytest.mark.parametrize(
    ("half", "chosen"), [(0.5, "bf16"), (0.79, "bf16"), (0.9, "fp32"), (3.0, "fp32"), (None, "fp32")]
)
def test_bf16_is_chosen_only_where_it_is_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, half: float | None, chosen: str
) -> None:
    seconds = {"fp32": 1.0, "bf16": half}

    def timed(recipe: Path, precision: str) -> Probe | None:
        took = seconds[precision]
        return None if took is None else Probe(precision, took, 10, 2)

    monkeypatch.setattr(probing, "_child", timed)
    found = probe(Path("recipe.yaml"))
    assert found is not None
    assert found.precision == chosen


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (80, "80 s"), (100, "2 min"), (5000, "83 min"), (9000, "2.5 h")]
)
def test_durations_are_written_for_readers(seconds: float, text: str) -> None:
    assert duration(seconds) == text
