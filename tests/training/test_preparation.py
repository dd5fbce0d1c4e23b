"""Recipe and data checked against each other before anything is loaded: descriptions, fewer documents or labels."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from spanwise.corpora import Corpus
from spanwise.corpora.selection import Selection
from spanwise.document import Document
from spanwise.errors import RecipeError, SchemaError
from spanwise.recipe import Recipe
from spanwise.schema import Schema
from spanwise.text.alignment import AlignedDocument
from spanwise.training.preparation import prepare

TrainEasy = Callable[..., Any]
PEOPLE, PLACES = {"Person": "people, by name"}, {"Place": "towns and countries"}
LEAR, QA = "model={name: lear}", "model={name: qa}"


@pytest.fixture
def files(easy_files: Path, easy_recipe: Path, tmp_path: Path) -> Path:
    """A copy of the easy corpus and its recipe, without descriptions."""
    return Path(shutil.copytree(easy_files, tmp_path / "files"))


def prepared(files: Path, *overrides: str) -> Selection:
    """What is trained on; no encoder is there to be loaded."""
    return prepare(Recipe.load(files / "recipe.yaml", ["encoder.name=./no/such/encoder", *overrides])).data


def describe(path: Path, **sections: dict[str, str]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(sections))
    return path


def texts_of(schema: Schema) -> dict[str, str]:
    return {kind.name: kind.description for kind in schema.entities}


def ids(rows: Sequence[AlignedDocument]) -> list[str]:
    return [row.document.id for row in rows]


def labels_of(document: Document) -> set[str]:
    return {entity.label for entity in document.entities}


def test_the_descriptions_of_the_data_are_those_of_every_model(files: Path) -> None:
    assert texts_of(prepared(files).schema) == {"Person": "", "Place": ""}
    describe(files / "descriptions.yaml", entities={**PEOPLE, **PLACES})
    assert texts_of(prepared(files).schema) == texts_of(prepared(files, LEAR).schema) == {**PEOPLE, **PLACES}


def test_descriptions_of_an_override_are_found_from_the_working_directory(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe(tmp_path / "elsewhere" / "mine.yaml", entities={"Person": "someone"})
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert texts_of(prepared(files, "data.descriptions=mine.yaml").schema) == {"Person": "someone", "Place": ""}


def test_descriptions_of_the_recipe_take_the_place_of_those_of_a_corpus(
    make_recipe: Callable[..., Recipe], flat_corpus: Corpus
) -> None:
    data = {"corpus": "demo", "descriptions": {"entities": {"Place": "somewhere"}}}
    own = texts_of(flat_corpus.schema)
    assert own["Place"]
    described = prepare(make_recipe("lear", data=data), flat_corpus).data
    assert texts_of(described.schema) == {**own, "Place": "somewhere"}
    assert texts_of(prepare(make_recipe("lear"), flat_corpus).data.schema) == own
    assert "somewhere" not in texts_of(flat_corpus.schema).values()


@pytest.mark.parametrize("model", [LEAR, "model={name: seq-ner}"])
def test_a_description_of_a_label_that_the_data_lacks_is_refused(files: Path, model: str) -> None:
    describe(files / "descriptions.yaml", entities={**PEOPLE, **PLACES, "Planet": "worlds"})
    with pytest.raises(SchemaError, match=r"'Planet' has a description, but the data has no such entity type"):
        prepared(files, model)


@pytest.mark.parametrize(
    "model",
    [LEAR, QA, "model={name: lear, shared: true, nested: true}", "model={name: lear}|bundle={name: seq-ner}"],
)
def test_a_model_that_reads_descriptions_names_every_label_without_one(files: Path, model: str) -> None:
    name = "qa" if model == QA else "lear"
    wants = rf"^{name} needs label descriptions, and"
    with pytest.raises(RecipeError, match=rf"{wants} Person, Place have none; write them into descriptions\.yaml"):
        prepared(files, *model.split("|"))
    describe(files / "descriptions.yaml", entities={**PEOPLE, "Place": " \n "})
    with pytest.raises(RecipeError, match=rf"{wants} Place has none; .* or under data\.descriptions in the recipe\.$"):
        prepared(files, *model.split("|"))
    describe(files / "descriptions.yaml", entities={**PEOPLE, **PLACES})
    assert prepared(files, *model.split("|")).schema.missing_descriptions == ()


def test_a_partner_that_reads_descriptions_must_have_them_too(files: Path) -> None:
    with pytest.raises(RecipeError, match=r"^lear needs label descriptions, and Person, Place have none"):
        prepared(files, "bundle={name: lear}")


@pytest.mark.parametrize(
    "model",
    ["{name: lear, knowledge: names}", "{name: lear, knowledge: embeddings}", "{name: seq-ner}", "{name: traditional}"],
)
def test_a_model_that_reads_none_does_without_descriptions(files: Path, model: str) -> None:
    assert prepared(files, f"model={model}").schema.missing_descriptions == ("Person", "Place")


def test_a_run_keeps_the_descriptions_with_its_model(train_easy: TrainEasy, tmp_path: Path) -> None:
    texts = {**PEOPLE, **PLACES}
    described = f"data.descriptions={{entities: {json.dumps(texts)}}}"
    train_easy(tmp_path / "run", "train.epochs=1", "data.sample=8", LEAR, described)
    schema = json.loads((tmp_path / "run" / "schema.json").read_text())
    assert {kind["name"]: kind["description"] for kind in schema["entities"]} == texts


@pytest.mark.parametrize("model", ["seq-ner", "spert", "span-ner"])
def test_a_sample_is_the_same_whatever_the_seed_and_the_model(files: Path, model: str) -> None:
    drawn = [prepared(files, f"model={{name: {model}}}", "data.sample=10", f"train.seed={seed}") for seed in (1, 2, 3)]
    wanted, whole = prepared(files, "data.sample=10"), prepared(files)
    assert all(selection.train == wanted.train for selection in drawn)
    assert len(set(ids(wanted.train))) == 10
    assert all(selection.split("dev") == whole.split("dev") for selection in drawn)


@pytest.mark.parametrize("model", ["seq-ner", "spert", "lear"])
def test_shots_are_drawn_for_each_label_by_the_seed_of_the_recipe(files: Path, model: str) -> None:
    describe(files / "descriptions.yaml", entities={**PEOPLE, **PLACES})

    def drawn(seed: int) -> Selection:
        return prepared(files, f"model={{name: {model}}}", "data.shots=3", f"train.seed={seed}")

    one = drawn(1)
    assert len(set(ids(one.train))) == len(one.train) == 2 * 3  # three for each of two labels: there are enough
    for label in ("Person", "Place"):
        assert sum(label in labels_of(row.document) for row in one.train) >= 3
    assert drawn(1).train == one.train
    assert len({tuple(ids(drawn(seed).train)) for seed in range(1, 6)}) == 5
    assert one.splits == ("test",)
    assert one.split("test") == prepared(files).split("test")


def test_a_run_on_shots_has_no_dev_and_keeps_its_last_model(train_easy: TrainEasy, tmp_path: Path) -> None:
    summary = train_easy(tmp_path / "run", "data.shots=2", "train.patience=1")
    assert (summary.dev_f1, summary.best_epoch, summary.steps) == (None, 3, 3)  # four documents: a step per epoch
    assert "4 documents" in (tmp_path / "run" / "README.md").read_text()


def test_a_type_that_is_left_out_may_but_need_not_be_described(files: Path) -> None:
    for texts in (PEOPLE, {**PEOPLE, **PLACES}):
        describe(files / "descriptions.yaml", entities=texts)
        assert texts_of(prepared(files, LEAR, "data.leave_out=[Place]").schema) == PEOPLE


def test_leaving_out_every_type_leaves_nothing_to_learn(files: Path) -> None:
    with pytest.raises(RecipeError, match="contains no entities; check the files"):
        prepared(files, "data.leave_out=[Person, Place]")


def test_open_options_are_derived_from_the_documents_that_are_trained_on(
    make_recipe: Callable[..., Recipe], flat_corpus: Corpus
) -> None:
    """The widest organization has five words; without organizations no name has more than two."""
    widths = [
        prepare(make_recipe("span-ner", data={"corpus": "demo", "leave_out": held_out}), flat_corpus)
        .blueprint.model.config.traits()
        .max_width
        for held_out in ([], ["Organization"])
    ]
    assert widths == [5, 2]


def test_both_members_of_a_bundle_report_what_they_cannot_learn(
    make_recipe: Callable[..., Recipe], flat_corpus: Corpus
) -> None:
    recipe = make_recipe("seq-ner", bundle={"name": "span-ner", "max_width": 2})
    assert prepare(recipe, flat_corpus).notices == (
        "fewer than 10 training examples, too few to learn: Organization (5), Person (5), Place (5).",
        "2 training entities (13.3%) are wider than the model's max_width of 2 words.",
    )
