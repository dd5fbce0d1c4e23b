"""What earlier versions wrote is read under today's names, with a warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spanwise import renamed
from spanwise.inference.extractor import Extractor
from spanwise.recipe import Recipe, find_recipe
from spanwise.renamed import upgrade_keys

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
    assert upgrade_keys(OLD) == {**unchanged, **changed}


def test_a_renamed_value_is_one_line_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(renamed.VALUES, ("span-ner", "sampling"), {"all": "none"})
    assert upgrade_keys({"model": {"name": "span-ner", "sampling": "all"}})["model"]["sampling"] == "none"
    assert upgrade_keys({"model": {"name": "seq-ner", "sampling": "all"}})["model"]["sampling"] == "all"
    assert upgrade_keys({"model": {"name": "span-ner"}}) == {"model": {"name": "span-ner"}}


def test_a_key_and_its_value_can_both_be_renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(renamed.KEYS, ("train", "half"), "precision")
    monkeypatch.setitem(renamed.VALUES, ("train", "precision"), {True: "bf16"})
    assert upgrade_keys({"train": {"half": True}}) == {"train": {"precision": "bf16"}}


@pytest.mark.parametrize(("before", "now"), [(0.0, None), (0, None), (0.5, 0.5), (None, None)])
def test_a_threshold_of_zero_meant_the_models_own(before: float | None, now: float | None) -> None:
    assert upgrade_keys({"evaluation": {"threshold": before}}) == {"evaluation": {"threshold": now}}
    assert upgrade_keys({"model": {}, "threshold": before}) == {"model": {}, "threshold": now}  # of a model folder


def test_the_original_is_left_alone() -> None:
    data = {"evaluation": {"threshold": 0.0}}
    upgrade_keys(data)
    assert data == {"evaluation": {"threshold": 0.0}}


def test_what_is_current_stays_as_it_is() -> None:
    assert upgrade_keys(OLD) == OLD
    assert upgrade_keys({}) == {}


def test_recipes_of_earlier_versions_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setitem(renamed.KEYS, ("train", "rounds"), "epochs")
    path = tmp_path / "recipe.yaml"
    path.write_text("model: {name: seq-ner}\ndata: {corpus: demo}\ntrain: {rounds: 3}\nevaluation: {threshold: 0.0}\n")
    assert Recipe.load(path).train.epochs == 3
    assert Recipe.load(path).evaluation.threshold is None
    assert Recipe.load(path, ["train.epochs=4"]).train.epochs == 4
    assert Recipe.load(path, ["train.rounds=5"]).train.epochs == 5


def test_a_deprecated_key_of_a_recipe_works_and_warns(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("encoder: {recompute: true}\nmodel: {name: dspert, keep: 1.0e-4}\ndata: {corpus: demo}\n")
    with pytest.warns(renamed.RenamedWarning) as caught:
        recipe = Recipe.load(path)
    assert {str(warning.message) for warning in caught} == {
        "encoder.recompute is deprecated; use encoder.gradient_checkpointing instead.",
        "model.keep is deprecated; use model.screening_threshold instead.",
    }
    assert recipe.encoder.gradient_checkpointing
    assert recipe.model.config.model_dump()["screening_threshold"] == 1e-4


def test_a_deprecated_key_in_an_override_works_and_warns() -> None:
    with pytest.warns(renamed.RenamedWarning, match=r"model\.keep is deprecated"):
        recipe = Recipe.load(find_recipe("dspert"), ["model.keep=0.01"])
    assert recipe.model.config.model_dump()["screening_threshold"] == 0.01


def test_todays_names_do_not_warn(recwarn: pytest.WarningsRecorder) -> None:
    Recipe.load(find_recipe("dspert"), ["model.screening_threshold=0.01", "encoder.gradient_checkpointing=true"])
    assert not [warning for warning in recwarn if issubclass(warning.category, renamed.RenamedWarning)]


def test_a_model_folder_of_an_earlier_version_loads_with_a_warning() -> None:
    folder = Path(__file__).parent / "legacy" / "dspert"
    with pytest.warns(renamed.RenamedWarning, match=r"model\.keep is deprecated; use model\.screening_threshold"):
        extractor = Extractor.from_pretrained(folder)
    assert extractor("Mara Ostrow met Bo Lind in Brenford .").entities


@pytest.mark.parametrize(
    ("name", "stored", "found"),
    [
        ("screening.ends.first.weight", {"promise.ends.first.weight"}, "promise.ends.first.weight"),
        ("reader.span_blocks.0.bias", {"reader.own.0.bias"}, "reader.own.0.bias"),
        ("partner.project_words.weight", {"partner.of_words.weight"}, "partner.of_words.weight"),
        ("screening.weigh.bias", {"screening.weigh.bias", "promise.weigh.bias"}, "screening.weigh.bias"),
        ("emit.weight", set(), "emit.weight"),
        ("inner.screening.bias", {"inner.promise.bias"}, "inner.screening.bias"),  # a module of somebody else's
    ],
)
def test_weights_are_found_under_the_names_of_earlier_versions(name: str, stored: set[str], found: str) -> None:
    assert renamed.stored_name(name, stored) == found


def test_a_deprecated_flag_is_replaced_with_a_warning() -> None:
    with pytest.warns(renamed.RenamedWarning, match="--reads is deprecated; use --reader instead"):
        assert renamed.upgrade_flags(["evaluate", "runs/x", "--reads", "seq-ner"]) == [
            *("evaluate", "runs/x", "--reader", "seq-ner")
        ]
    with pytest.warns(renamed.RenamedWarning):
        assert renamed.upgrade_flags(["--reads=seq-ner"]) == ["--reader=seq-ner"]
    assert renamed.upgrade_flags(["--json", "--readsx"]) == ["--json", "--readsx"]
