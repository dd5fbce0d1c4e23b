"""What earlier versions wrote is read under today's names."""

from __future__ import annotations

from typing import Any

import pytest

from spanwise.recipe import Recipe, modernized, renamed

OLD: dict[str, Any] = {
    "model": {"name": "span-ner", "width": 4},
    "bundle": {"name": "seq-ner", "width": 5},
    "train": {"rounds": 3, "seed": 2},
    "evaluation": None,
}


@pytest.mark.parametrize(
    ("section", "before", "now", "changed"),
    [
        ("train", "rounds", "epochs", {"train": {"epochs": 3, "seed": 2}}),
        ("span-ner", "width", "max_width", {"model": {"name": "span-ner", "max_width": 4}}),
        ("seq-ner", "width", "max_width", {"bundle": {"name": "seq-ner", "max_width": 5}}),
        ("", "bundle", "partner", {"partner": OLD["bundle"]}),
        ("evaluation", "budget", "token_budget", {}),
        ("data", "name", "corpus", {}),
    ],
)
def test_a_renamed_key_is_one_line_in_the_table(
    monkeypatch: pytest.MonkeyPatch, section: str, before: str, now: str, changed: dict[str, Any]
) -> None:
    monkeypatch.setitem(renamed.KEYS, (section, before), now)
    unchanged = {key: value for key, value in OLD.items() if section or key != before}
    assert modernized(OLD) == {**unchanged, **changed}


def test_a_renamed_value_is_one_line_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(renamed.VALUES, ("span-ner", "sampling"), ("all", "none"))
    assert modernized({"model": {"name": "span-ner", "sampling": "all"}})["model"]["sampling"] == "none"
    assert modernized({"model": {"name": "seq-ner", "sampling": "all"}})["model"]["sampling"] == "all"
    assert modernized({"model": {"name": "span-ner"}}) == {"model": {"name": "span-ner"}}


def test_a_key_and_its_value_can_both_be_renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(renamed.KEYS, ("train", "half"), "precision")
    monkeypatch.setitem(renamed.VALUES, ("train", "precision"), (True, "bf16"))
    assert modernized({"train": {"half": True}}) == {"train": {"precision": "bf16"}}


@pytest.mark.parametrize(("before", "now"), [(0.0, None), (0, None), (0.5, 0.5), (None, None)])
def test_a_threshold_of_zero_meant_the_models_own(before: float | None, now: float | None) -> None:
    assert modernized({"evaluation": {"threshold": before}}) == {"evaluation": {"threshold": now}}
    assert modernized({"model": {}, "threshold": before}) == {"model": {}, "threshold": now}  # of a model folder


def test_the_original_is_left_alone() -> None:
    data = {"evaluation": {"threshold": 0.0}}
    modernized(data)
    assert data == {"evaluation": {"threshold": 0.0}}


def test_what_is_current_stays_as_it_is() -> None:
    assert modernized(OLD) == OLD
    assert modernized({}) == {}


def test_recipes_of_earlier_versions_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setitem(renamed.KEYS, ("train", "rounds"), "epochs")
    path = tmp_path / "recipe.yaml"
    path.write_text("model: {name: seq-ner}\ndata: {corpus: demo}\ntrain: {rounds: 3}\nevaluation: {threshold: 0.0}\n")
    assert Recipe.load(path).train.epochs == 3
    assert Recipe.load(path).evaluation.threshold is None
    assert Recipe.load(path, ["train.epochs=4"]).train.epochs == 4
    assert Recipe.load(path, ["train.rounds=5"]).train.epochs == 5
