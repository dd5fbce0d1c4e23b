"""Advice for `spanwise init`: the first rule that fits the data names the model and the reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spanwise.recipe import Recipe, find_recipe
from spanwise.recipe.advice import Choice, Timing, advice, choose, recommend
from spanwise.text.profile import DataProfile

FLAT = DataProfile(
    documents=600, words=12000, sentences=600, entities=300, labels=4, script="latin", widths={1: 200, 3: 100}
)
SMALL = replace(FLAT, documents=100, words=2000, sentences=100)
WIDE = replace(FLAT, widths={20: 300})
CASES = {
    "flat": FLAT,
    "small": SMALL,
    "small nested shared": replace(SMALL, nested=True, shared_entities=12),
    "wide": WIDE,
    "nested": replace(FLAT, nested=True),
    "shared": replace(FLAT, shared_entities=12),
    "wide shared": replace(WIDE, shared_entities=12),
    "nested shared": replace(FLAT, nested=True, shared_entities=1200),
    "relations": replace(FLAT, relations=1500),
    "nested relations": replace(FLAT, relations=1500, nested=True),
    "shared relations": replace(FLAT, relations=1500, shared_entities=12),
    "nested shared relations": replace(FLAT, relations=1500, shared_entities=12, nested=True),
    "nothing": DataProfile(),
}


def parsed(choice: Choice) -> Recipe:
    sections = {"model": choice.model, "bundle": choice.bundle, "encoder": choice.encoder, "train": choice.train}
    return Recipe.parse({**sections, "data": {"corpus": "demo"}})


@pytest.mark.parametrize("case", CASES)
def test_the_recommended_model_is_valid_and_can_predict_what_the_data_marks(case: str) -> None:
    data, traits = CASES[case], parsed(choose(CASES[case])).model.config.traits()
    assert traits.nested >= data.nested
    assert traits.relations >= bool(data.relations)
    assert traits.multi_label == (data.shared_entities > 0)
    assert traits.max_width is None or traits.max_width >= data.covering_width(0.99)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("flat", "entities are flat and at most 3 words wide in 99.9 % of the cases"),
        ("small", "the data has only 100 sentences, and the general model"),
        ("wide", "entities are flat and wide (99 % need 20 words), and a tagger has no width limit"),
        ("nested", "entities are nested, and SpanNER keeps overlapping spans; 3 words cover 99.9 % of them"),
        ("shared", "12 entities share their span with an entity of another label"),
        ("wide shared", "20 words cover 99 % of the entities"),
        ("nested shared", "1,200 entities share their span with an entity of another label"),
        (
            "relations",
            "the data has 1,500 relations, which SpERT predicts together with the entities; entities do not overlap",
        ),
        ("nested relations", "entities are nested"),
        ("shared relations", "12 entities share their span with an entity of another label"),
    ],
)
def test_the_reason_names_what_the_choice_rests_on(case: str, reason: str) -> None:
    why = choose(CASES[case]).why
    assert reason in why
    assert not {"{", "}", "\n"} & set(why)


def test_small_data_starts_from_the_general_model_if_it_can() -> None:
    assert parsed(choose(SMALL)).train.start == "general"
    assert parsed(choose(SMALL)).model == Recipe.load(find_recipe("fine-tune")).model
    others = [replace(SMALL, script="han"), replace(SMALL, relations=5), replace(SMALL, widths={20: 300}), FLAT]
    assert not any(parsed(choose(data)).train.start for data in others)
    assert parsed(choose(SMALL, new=True)).train.start is None


def test_wide_entities_get_a_tagger_unless_they_share_spans() -> None:
    assert parsed(choose(WIDE)).model.config.traits().tagger
    assert not parsed(choose(CASES["wide shared"])).model.config.traits().tagger


def test_every_rule_is_the_choice_for_some_data() -> None:
    models = {str(choose(data)) for data in CASES.values()}
    assert len(models) >= len(advice().rules)
    *_, last = advice().rules
    assert last.when.hold({"relations": 0, "nested": False, "shared": 0, "usual_width": 1})


@pytest.mark.parametrize("case", CASES)
def test_the_recipe_is_commented_and_loads(case: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    files = {"train": [tmp_path / "train.jsonl"], "dev": [], "test": []}
    path.write_text(recommend(CASES[case], files, path, "jsonl"))
    recipe, choice = Recipe.load(path), choose(CASES[case])
    assert (recipe.model, recipe.bundle) == (parsed(choice).model, parsed(choice).bundle)
    assert (recipe.data.train, recipe.data.format) == ((tmp_path / "train.jsonl",), "jsonl")
    assert ("multi_label: true" in path.read_text()) == (CASES[case].shared_entities > 0)


@pytest.mark.parametrize(
    ("sentences", "epochs", "batch_size"), [(10, 100, 8), (1000, 12, 8), (5000, 5, 16), (90000, 3, 16)]
)
def test_small_data_is_read_more_often(sentences: int, epochs: int, batch_size: int, tmp_path: Path) -> None:
    """Whether the sentences come one by one or in a few long documents."""
    for documents in (3, sentences):
        data = replace(FLAT, relations=5, documents=documents, sentences=sentences)
        train = section(recommend(data, {"train": [tmp_path / "a"]}, tmp_path / "r.yaml"))
        assert (train["epochs"], train["batch_size"]) == (epochs, batch_size)


def test_without_dev_data_a_share_of_the_documents_is_split_off(tmp_path: Path) -> None:
    data = section(recommend(FLAT, {"train": [tmp_path / "a"]}, tmp_path / "r.yaml"), "data")
    assert data["dev_share"] == 0.1
    small = replace(SMALL, relations=5)
    few = recommend(small, {"train": [tmp_path / "a"]}, tmp_path / "r.yaml", split_off_dev=False)
    assert "dev_share" not in section(few, "data")
    assert "patience" not in section(few)
    assert section(few)["epochs"] == 30  # without dev nobody stops a longer training


def test_a_timed_probe_gives_precision_and_estimate(tmp_path: Path) -> None:
    text = recommend(FLAT, {"train": [tmp_path / "a"]}, tmp_path / "r.yaml", None, Timing("bf16", "about 3 min"))
    assert "# Training takes about 3 min.\n" in text
    assert section(text)["precision"] == "bf16"
    assert section(recommend(FLAT, {"train": [tmp_path / "a"]}, tmp_path / "r.yaml"))["precision"] == "fp32"


def test_word_piece_embeddings_are_frozen(tmp_path: Path) -> None:
    assert section(recommend(FLAT, {"train": [tmp_path / "a"]}, tmp_path / "r.yaml"), "encoder")["freeze_embeddings"]


def test_a_width_that_is_cheap_covers_nearly_all_entities() -> None:
    cheap = replace(FLAT, widths={1: 980, 5: 15, 9: 5})
    assert choose(cheap).model["max_width"] == 9
    assert choose(replace(FLAT, widths={1: 980, 5: 15, 40: 5})).model["max_width"] == 5


def test_with_dev_data_training_stops_early(tmp_path: Path) -> None:
    files = {"train": [tmp_path / "a"], "dev": [tmp_path / "b"]}
    assert section(recommend(replace(FLAT, sentences=1000), files, tmp_path / "r.yaml"))["patience"] == 5
    small = replace(SMALL, relations=5)
    assert section(recommend(small, files, tmp_path / "r.yaml"))["patience"] == 20  # of 100 epochs


def section(text: str, name: str = "train") -> dict[str, Any]:
    import yaml

    found: dict[str, Any] = yaml.safe_load(text)[name]
    return found


def test_a_fast_recipe_keeps_half_of_the_layers(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(recommend(FLAT, {"train": [tmp_path / "train.jsonl"]}, path, fast=True), encoding="utf-8")
    assert Recipe.load(path).encoder.layers == (0, 2, 5)
