"""The presets `paper/…`: each holds its paper's settings, says where they stand, and makes a model that learns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spanwise.corpora import Corpus
from spanwise.errors import RecipeError
from spanwise.recipe import RECIPES, Recipe, find_recipe, shipped_recipes
from spanwise.testing.samples import FLAT, FLAT_LINKS, NESTED, NESTED_LINKS, sample_corpus

PRESETS = sorted(name for name in shipped_recipes() if name.startswith("paper/"))
_OPTION = re.compile(r"  (\w+): (\S.*?)(\s+# (.+))?")
_UNEXPLAINED = {"name", "corpus", "format"}  # of models and corpora
# Transcribed from the papers: epochs, batch, learning rates of the encoder and of the rest, and the widest span.
LEAR_TABLE_8 = {  # seed, max_seq_len, epochs, learning rates
    "ace05-events": (1, 256, 30, 1e-5, 2e-4),
    "ace05": (42, 128, 20, 3e-5, 6e-5),
    "ace04": (42, 128, 30, 3e-5, 3e-4),
    "ontonotes4": (42, 128, 5, 8e-6, 8e-5),
    "msra": (42, 128, 20, 3e-5, 6e-5),
}
DSPERT_TABLE_7 = {  # K, epochs, learning rate of the encoder, batch
    "ace04": (25, 50, 2e-5, 48),
    "ace05": (25, 50, 2e-5, 48),
    "genia": (18, 30, 4e-5, 16),
    "kbp17": (16, 50, 2e-5, 48),
    "conll03": (10, 50, 2e-5, 48),
    "ontonotes5": (16, 30, 2e-5, 16),
}
BL_NER_TABLE_2 = {  # ε, batch, encoder
    "ontonotes5": (10, 12, "bert-large-cased"),
    "conll03": (5, 32, "bert-large-cased"),
    "conllpp": (5, 32, "bert-large-cased"),
    "conll04": (10, 2, "bert-large-cased"),
    "ace04": (10, 8, "bert-large-cased"),
    "ace05": (10, 8, "bert-large-cased"),
    "bc5cdr": (7, 16, "biobert_v1.0_pubmed_pmc"),
    "ncbi": (7, 16, "biobert_v1.0_pubmed_pmc"),
    "scierc": (8, 12, "scibert_scivocab_cased"),
    "wnut16": (6, 32, "bert-large-cased"),
    "wnut17": (6, 24, "bert-large-cased"),
}


def options(recipe: Recipe) -> dict[str, object]:
    return recipe.model.config.model_dump()


def preset(name: str) -> Recipe:
    return Recipe.load(find_recipe(f"paper/{name}"))


def corpora_of(paper: str) -> set[str]:
    return {name.removeprefix(f"paper/{paper}-") for name in PRESETS if name.startswith(f"paper/{paper}-")}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_opens_with_its_command_and_explains_every_value(name: str) -> None:
    first, second, *rest = find_recipe(name).read_text(encoding="utf-8").splitlines()
    assert first.startswith(f"# spanwise train {name} ")
    assert "--out runs/" in first
    assert second.startswith("# ")
    recipe = Recipe.load(find_recipe(name))
    assert recipe.data.corpus or "--set data.train=" in first
    found = [match for match in map(_OPTION.fullmatch, rest) if match]
    assert [match[1] for match in found if not match[4] and match[1] not in _UNEXPLAINED] == []
    assert (recipe.encoder.word_shapes, recipe.encoder.freeze_embeddings) == (False, False)


def test_lear_has_the_settings_of_table_8() -> None:
    assert corpora_of("lear") == set(LEAR_TABLE_8)
    for name, row in LEAR_TABLE_8.items():
        recipe = preset(f"lear-{name}")
        train = recipe.train
        assert (train.seed, recipe.encoder.max_pieces, train.epochs, train.encoder_lr, train.task_lr) == row
        assert (train.batch_size, options(recipe)["dropout"]) == (32, 0.1)
        assert options(recipe)["nested"] == (name in {"ace04", "ace05"})


def test_dspert_has_the_settings_of_table_7() -> None:
    assert corpora_of("dspert") == set(DSPERT_TABLE_7)
    for name, row in DSPERT_TABLE_7.items():
        recipe = preset(f"dspert-{name}")
        train, model = recipe.train, options(recipe)
        assert (model["max_width"], train.epochs, train.encoder_lr, train.batch_size) == row
        assert (train.task_lr, train.warmup, train.clip) == (2e-3, 0.2, 5.0)
        assert (model["lstm"], model["hidden"], model["smoothing"]) == (200, 300, 0.1)
        assert recipe.encoder.name.endswith("roberta-base")


def test_bl_ner_has_the_settings_of_table_2() -> None:
    assert corpora_of("bl-ner") == set(BL_NER_TABLE_2)
    for name, row in BL_NER_TABLE_2.items():
        recipe = preset(f"bl-ner-{name}")
        train = recipe.train
        assert (options(recipe)["max_width"], train.batch_size, recipe.encoder.name.rpartition("/")[2]) == row
        assert (train.epochs, train.encoder_lr, train.task_lr, train.warmup) == (20, 5e-5, 5e-5, 0.1)
        assert recipe.bundle is not None
        assert (recipe.bundle.alpha, recipe.bundle.name) == (0.1, "seq-ner")


@pytest.mark.parametrize(("paper", "epochs", "batch"), [("stsn", 100, 4), ("span", 20, 8), ("spert", 20, 2)])
def test_the_joint_models_have_the_settings_of_their_papers(paper: str, epochs: int, batch: int) -> None:
    for corpus in corpora_of(paper):
        train = preset(f"{paper}-{corpus}").train
        assert (train.epochs, train.batch_size, train.encoder_lr, train.warmup) == (epochs, batch, 5e-5, 0.1)
        assert preset(f"{paper}-{corpus}").data.heads == (corpus == "ace05")


def test_seq_ner_and_span_ner_alone_are_overrides_of_the_bundle() -> None:
    path = find_recipe("paper/bl-ner-conll04")
    assert Recipe.load(path, ["bundle=null"]).model.name == "span-ner"
    alone = Recipe.load(path, ["model={name: seq-ner, tagging: softmax, dropout: 0.1}", "bundle=null"])
    assert (alone.model.name, alone.bundle) == ("seq-ner", None)


@pytest.fixture(scope="module")
def corpora() -> dict[bool, Corpus]:
    flat, nested = sample_corpus("flat", FLAT, FLAT_LINKS), sample_corpus("nested", NESTED, NESTED_LINKS)
    return {False: flat, True: nested}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_makes_a_model_that_takes_a_training_step(
    name: str, tiny_encoder: Path, corpora: dict[bool, Corpus], tmp_path: Path
) -> None:
    from spanwise.training.preparation import prepare
    from spanwise.training.reporting import NullListener
    from spanwise.training.trainer import Trainer

    small = [f"encoder.name={tiny_encoder}", "encoder.max_pieces=null", "train.epochs=1"]
    recipe = Recipe.load(find_recipe(name), small)
    corpus = corpora[options(recipe)["nested"] is True]
    trainer = Trainer(prepare(recipe, corpus), tmp_path / "run", NullListener())
    seconds, _ = trainer.timed_steps(1)
    assert len(seconds) == 1


@pytest.mark.parametrize(
    "name", ["paper/nope", "paper/../dspert", "paper", "../recipes/paper/span-ade", "/paper/span-ade"]
)
def test_only_the_names_of_shipped_presets_are_found(name: str) -> None:
    assert find_recipe("paper/span-ade") == find_recipe("paper/span-ade.yaml") == RECIPES / "paper" / "span-ade.yaml"
    with pytest.raises(RecipeError, match=r"does not exist; .*choose from .*paper/(span-ade|…)"):
        find_recipe(name)
