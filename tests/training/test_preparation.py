"""What training sees: descriptions of the labels, and fewer documents or labels where the recipe says so."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.corpora import Corpus
from spanwise.document import Document, Entity
from spanwise.errors import RecipeError, SchemaError
from spanwise.recipe import Recipe
from spanwise.schema import EntityType, RelationType, Schema
from spanwise.training.preparation import few_shots, prepare

TrainEasy = Callable[..., Any]
PEOPLE, PLACES = {"Person": "people, by name"}, {"Place": "towns and countries"}
LEAR, QA = "model={name: lear}", "model={name: qa}"


@pytest.fixture
def files(easy_files: Path, easy_recipe: Path, tmp_path: Path) -> Path:
    """A copy of the easy corpus and its recipe, without descriptions."""
    return Path(shutil.copytree(easy_files, tmp_path / "files"))


def prepared(files: Path, *overrides: str) -> Corpus:
    """What is trained on; no encoder is there to be loaded."""
    return prepare(Recipe.load(files / "recipe.yaml", ["encoder.name=./no/such/encoder", *overrides])).corpus


def describe(path: Path, **sections: dict[str, str]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(sections))
    return path


def told(corpus: Corpus) -> dict[str, str]:
    return {kind.name: kind.description for kind in corpus.schema.entities}


def ids(corpus: Corpus, split: str = "train") -> list[str | None]:
    return [document.id for document in corpus.splits[split]]


def labels_of(document: Document) -> set[str]:
    return {entity.label for entity in document.entities}


def test_descriptions_beside_the_training_file_are_taken(files: Path) -> None:
    assert told(prepared(files)) == {"Person": "", "Place": ""}
    describe(files / "descriptions.yaml", entities={**PEOPLE, **PLACES})
    assert told(prepared(files)) == told(prepared(files, LEAR)) == {**PEOPLE, **PLACES}


def test_descriptions_beside_the_first_training_file_that_has_some_are_taken(files: Path) -> None:
    for name in ("one", "two"):
        (files / name).mkdir()
        shutil.copy(files / "train.jsonl", files / name / "train.jsonl")
    describe(files / "two" / "descriptions.yaml", entities=PLACES)
    both = f"data.train=[{files}/one/train.jsonl, {files}/two/train.jsonl]"
    assert told(prepared(files, both)) == {"Person": "", **PLACES}
    describe(files / "one" / "descriptions.yaml", entities=PEOPLE)
    assert told(prepared(files, both)) == {**PEOPLE, "Place": ""}


def test_descriptions_of_the_recipe_go_before_those_beside_the_file(files: Path) -> None:
    describe(files / "descriptions.yaml", entities={**PEOPLE, **PLACES})
    describe(files / "other" / "mine.yaml", entities={"Person": "someone"})
    assert told(prepared(files, f"data.descriptions={files}/other/mine.yaml")) == {"Person": "someone", "Place": ""}
    inline = "data.descriptions={entities: {Place: somewhere}}"
    assert told(prepared(files, inline)) == {"Person": "", "Place": "somewhere"}


def test_descriptions_of_the_recipe_take_the_place_of_those_of_a_corpus(
    make_recipe: Callable[..., Recipe], flat_corpus: Corpus
) -> None:
    data = {"corpus": "demo", "descriptions": {"entities": {"Place": "somewhere"}}}
    own = told(flat_corpus)
    assert own["Place"]
    assert told(prepare(make_recipe("lear", data=data), flat_corpus).corpus) == {**own, "Place": "somewhere"}
    assert told(prepare(make_recipe("lear"), flat_corpus).corpus) == own
    assert "somewhere" not in told(flat_corpus).values()


def test_so_many_sentences_of_each_description_are_read(files: Path) -> None:
    person, place = "Someone, e.g. Ann. Not a god! Not a dog.", "Somewhere."
    describe(files / "descriptions.yaml", entities={"Person": person, "Place": place})
    first = {number: told(prepared(files, f"data.description_sentences={number}")) for number in (1, 2, 3, 9)}
    assert first[1] == {"Person": "Someone, e.g. Ann.", "Place": place}
    assert first[2] == {"Person": "Someone, e.g. Ann. Not a god!", "Place": place}
    assert first[3] == first[9] == told(prepared(files)) == {"Person": person, "Place": place}


def test_relations_are_described_as_well(make_recipe: Callable[..., Recipe], flat_corpus: Corpus) -> None:
    corpus = replace(flat_corpus, schema=replace(flat_corpus.schema, relations=(RelationType("in", "at"),)))
    data = {"corpus": "demo", "descriptions": {"relations": {"in": "is found in"}}}
    found = prepare(make_recipe("spert", data=data), corpus).corpus.schema
    assert found.relations == (RelationType("in", "is found in"),)


@pytest.mark.parametrize("model", [LEAR, "model={name: seq-ner}"])
def test_a_description_of_a_label_that_the_data_lacks_is_refused(files: Path, model: str) -> None:
    describe(files / "descriptions.yaml", entities={**PEOPLE, **PLACES, "Planet": "worlds"})
    with pytest.raises(SchemaError, match=r"'Planet' is described, but the data has no such entity type"):
        prepared(files, model)


@pytest.mark.parametrize(
    "model",
    [LEAR, QA, "model={name: lear, shared: true, nested: true}", "model={name: lear}|bundle={name: seq-ner}"],
)
def test_a_model_that_reads_descriptions_names_every_label_without_one(files: Path, model: str) -> None:
    name = "qa" if model == QA else "lear"
    wants = rf"^{name} reads descriptions of the labels, and"
    with pytest.raises(RecipeError, match=rf"{wants} Person, Place have none; write them into descriptions\.yaml"):
        prepared(files, *model.split("|"))
    describe(files / "descriptions.yaml", entities={**PEOPLE, "Place": " \n "})
    with pytest.raises(RecipeError, match=rf"{wants} Place has none; .* or under data\.descriptions in the recipe\.$"):
        prepared(files, *model.split("|"))
    describe(files / "descriptions.yaml", entities={**PEOPLE, **PLACES})
    assert prepared(files, *model.split("|")).schema.undescribed == ()


def test_a_partner_that_reads_descriptions_must_have_them_too(files: Path) -> None:
    with pytest.raises(RecipeError, match=r"^lear reads descriptions of the labels, and Person, Place have none"):
        prepared(files, "bundle={name: lear}")


@pytest.mark.parametrize(
    "model",
    ["{name: lear, knowledge: names}", "{name: lear, knowledge: embeddings}", "{name: seq-ner}", "{name: traditional}"],
)
def test_a_model_that_reads_none_does_without_descriptions(files: Path, model: str) -> None:
    assert prepared(files, f"model={model}").schema.undescribed == ("Person", "Place")


def test_a_run_keeps_the_descriptions_with_its_model(train_easy: TrainEasy, tmp_path: Path) -> None:
    texts = {**PEOPLE, **PLACES}
    described = f"data.descriptions={{entities: {json.dumps(texts)}}}"
    train_easy(tmp_path / "run", "train.epochs=1", "data.sample=8", LEAR, described)
    schema = json.loads((tmp_path / "run" / "schema.json").read_text())
    assert {kind["name"]: kind["description"] for kind in schema["entities"]} == texts


@pytest.mark.parametrize("model", ["seq-ner", "spert", "span-ner"])
def test_a_sample_is_the_same_whatever_the_seed_and_the_model(files: Path, model: str) -> None:
    drawn = [prepared(files, f"model={{name: {model}}}", "data.sample=10", f"train.seed={seed}") for seed in (1, 2, 3)]
    wanted = prepared(files, "data.sample=10")
    assert all(corpus == wanted for corpus in drawn)
    whole = prepared(files)
    assert len(set(ids(wanted))) == 10
    assert [id for id in ids(whole) if id in ids(wanted)] == ids(wanted)
    assert ids(wanted, "dev") == ids(whole, "dev")


def test_a_larger_sample_holds_the_smaller_one_and_at_most_everything(files: Path) -> None:
    small, large = (set(ids(prepared(files, f"data.sample={size}"))) for size in (5, 20))
    assert small < large
    assert prepared(files, "data.sample=1000") == prepared(files)


@pytest.mark.parametrize("model", ["seq-ner", "spert", "lear"])
def test_shots_are_drawn_for_each_label_by_the_seed(files: Path, model: str) -> None:
    describe(files / "descriptions.yaml", entities={**PEOPLE, **PLACES})

    def drawn(seed: int) -> Corpus:
        return prepared(files, f"model={{name: {model}}}", "data.shots=3", f"train.seed={seed}")

    one = drawn(1)
    assert len(set(ids(one))) == len(ids(one)) == 2 * 3  # three for each of two labels: there are enough
    for label in ("Person", "Place"):
        assert sum(label in labels_of(document) for document in one.splits["train"]) >= 3
    assert drawn(1) == one
    assert len({tuple(ids(drawn(seed))) for seed in range(1, 6)}) == 5
    assert sorted(one.splits) == ["test", "train"]
    assert ids(one, "test") == ids(prepared(files), "test")


def test_a_label_with_few_documents_gives_all_it_has(files: Path) -> None:
    corpus = prepared(files, "data.shots=1000")
    assert ids(corpus) == [document.id for document in prepared(files).splits["train"] if document.entities]


marked_texts = st.lists(st.sets(st.sampled_from("ABCD"), max_size=4), min_size=1, max_size=14)


@settings(max_examples=80)
@given(marked_texts, st.integers(1, 4), st.integers(0, 5))
def test_shots_bring_so_many_documents_of_every_label_where_there_are_so_many(
    texts: list[set[str]], shots: int, seed: int
) -> None:
    train = tuple(
        Document("word", entities=tuple(Entity(0, 4, label) for label in sorted(labels)), id=str(number))
        for number, labels in enumerate(texts)
    )
    schema = Schema(tuple(map(EntityType, "ABCD")))
    corpus = Corpus("drawn", {"train": train, "dev": train[:1], "test": train[-1:]}, schema)
    drawn = few_shots(corpus, shots, seed)
    found = drawn.splits["train"]
    for label in "ABCD":
        there, taken = (sum(label in labels_of(document) for document in row) for row in (train, found))
        assert taken >= min(shots, there)
    assert len(found) <= shots * len(set().union(*texts))
    assert [document for document in train if document in found] == list(found)
    assert drawn.splits.keys() == {"train", "test"}
    assert few_shots(corpus, shots, seed) == drawn


def test_a_run_on_shots_has_no_dev_and_keeps_its_last_model(train_easy: TrainEasy, tmp_path: Path) -> None:
    summary = train_easy(tmp_path / "run", "data.shots=2", "train.patience=1")
    assert (summary.dev_f1, summary.best_epoch, summary.steps) == (None, 3, 3)  # four documents: a step per epoch
    assert "4 documents" in (tmp_path / "run" / "README.md").read_text()


def test_shots_are_drawn_from_a_sample(files: Path) -> None:
    few = prepared(files, "data.sample=6", "data.shots=1")
    assert set(ids(few)) < set(ids(prepared(files, "data.sample=6")))


def test_a_type_that_is_left_out_is_in_no_split_and_not_in_the_schema(files: Path) -> None:
    whole, seen = prepared(files), prepared(files, "data.leave_out=[Place]")
    assert seen.schema.entity_names == ("Person",)
    assert seen.splits.keys() == whole.splits.keys()
    for split, documents in seen.splits.items():
        assert ids(seen, split) == ids(whole, split)  # documents stay, also those where nothing else was marked
        for document, before in zip(documents, whole.splits[split], strict=True):
            assert document.entities == tuple(e for e in before.entities if e.label == "Person")
    assert sum(len(document.entities) for document in seen.splits["train"]) > 10


def test_a_type_that_is_left_out_may_but_need_not_be_described(files: Path) -> None:
    describe(files / "descriptions.yaml", entities=PEOPLE)
    assert told(prepared(files, LEAR, "data.leave_out=[Place]")) == PEOPLE
    describe(files / "descriptions.yaml", entities={**PEOPLE, **PLACES})
    assert told(prepared(files, LEAR, "data.leave_out=[Place]")) == PEOPLE


def test_shots_are_drawn_for_the_types_that_are_not_left_out(files: Path) -> None:
    few = prepared(files, "data.leave_out=[Person]", "data.shots=3")
    assert [labels_of(document) for document in few.splits["train"]] == [{"Place"}] * 3


def test_a_type_to_leave_out_that_is_not_there_is_refused(files: Path) -> None:
    with pytest.raises(SchemaError, match=r"there is no entity type 'Town' to leave out; there are .*'Place'"):
        prepared(files, "data.leave_out=[Place, Town]")


def test_leaving_out_every_type_leaves_nothing_to_learn(files: Path) -> None:
    with pytest.raises(RecipeError, match="there is nothing to learn"):
        prepared(files, "data.leave_out=[Person, Place]")
