"""The metadata of the card that a run writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from huggingface_hub import ModelCard

from spanwise.recipe import Recipe
from spanwise.training.card import card_data, model_card
from spanwise.training.preparation import prepare
from spanwise.training.run import RunSummary


def test_the_card_names_data_language_encoder_and_score(make_recipe: Callable[..., Recipe]) -> None:
    prepared = prepare(make_recipe("span-ner", nested=True, encoder={"name": "minilm"}))
    summary = RunSummary(0.5, 2, 10, 1.0, "dev F1 of entities")
    card = ModelCard(model_card(prepared, summary))
    data = card.data
    assert (data.library_name, data.language, data.datasets) == ("spanwise", "en", ["demo"])
    assert data.base_model == "sentence-transformers/all-MiniLM-L6-v2"
    (result,) = data.eval_results
    assert (result.dataset_name, result.dataset_split, result.metric_value) == ("demo", "dev", 0.5)


def test_files_on_this_machine_are_not_named(easy_recipe: Path) -> None:
    prepared = prepare(Recipe.load(easy_recipe))
    data = card_data(prepared, RunSummary(None, 1, 1, 1.0))
    assert (data.base_model, data.datasets, data.language, data.eval_results) == (None, None, None, None)
