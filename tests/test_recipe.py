"""Recipes: those that ship, overrides, files and what is wrong with a recipe, in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from spanwise.errors import RecipeError
from spanwise.recipe import RECIPES, Descriptions, Recipe, find_recipe, override

SHIPPED = sorted(RECIPES.glob("*.yaml"))
SMALL: dict[str, Any] = {"model": {"name": "seq-ner"}, "data": {"corpus": "demo"}}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text("model: {name: seq-ner}\ndata: {train: [a.jsonl, sub/b.jsonl], dev: [../c.jsonl]}\n")
    return path


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_recipe_is_valid_and_opens_with_its_command(path: Path) -> None:
    recipe = Recipe.load(path)
    first, second = path.read_text().splitlines()[:2]
    assert first.startswith(f"# spanwise train {path.stem} ")
    assert "--out runs/" in first
    assert second.startswith("# ")
    assert recipe.data.corpus


def test_a_recipe_is_found_by_its_path_or_by_the_name_of_a_shipped_one(small: Path) -> None:
    assert find_recipe(small) == small
    assert find_recipe("seq-ner") == find_recipe("seq-ner.yaml") == RECIPES / "seq-ner.yaml"


@pytest.mark.parametrize("name", ["nope", "nope.yaml", "elsewhere/seq-ner", "suites/bl-ner"])
def test_a_recipe_that_is_not_there_is_told_with_those_that_are(name: str) -> None:
    with pytest.raises(
        RecipeError, match=r"there is no recipe file .*take one of .*seq-ner, span, span-ner, spert, stsn"
    ):
        find_recipe(name)


@pytest.mark.parametrize(
    ("assignment", "section", "key", "value"),
    [
        ("train.seed=7", "train", "seed", 7),
        ("train.encoder_lr=2e-4", "train", "encoder_lr", 2e-4),  # YAML reads this one as text
        ("train.tensorboard=true", "train", "tensorboard", True),
        ("train.patience=null", "train", "patience", None),
        ("encoder.name=some/where", "encoder", "name", "some/where"),
        ("evaluation.threshold=0.5", "evaluation", "threshold", 0.5),
        ("data.corpus=wnut17", "data", "corpus", "wnut17"),
        ("data.sample=12", "data", "sample", 12),
        ("data.shots=5", "data", "shots", 5),
        ("data.shots=null", "data", "shots", None),
        ("data.leave_out=[Place, Person]", "data", "leave_out", ("Place", "Person")),
        ("data.descriptions=a/b.yaml", "data", "descriptions", Path("a/b.yaml")),
        (
            "data.descriptions.entities.Person=people",
            "data",
            "descriptions",
            Descriptions(entities={"Person": "people"}),
        ),
    ],
)
def test_an_override_takes_a_yaml_value(assignment: str, section: str, key: str, value: object) -> None:
    recipe = Recipe.parse(override(SMALL, [assignment]))
    assert getattr(getattr(recipe, section), key) == value


def test_overrides_reach_the_models_own_options() -> None:
    recipe = Recipe.parse(override(SMALL, ["model.tagging=crf", "bundle.name=span-ner", "bundle.max_width=4"]))
    assert recipe.model.config().model_dump()["tagging"] == "crf"
    assert recipe.bundle is not None
    assert recipe.bundle.config().model_dump()["max_width"] == 4


def test_an_override_makes_the_sections_that_are_missing_and_leaves_the_original_alone() -> None:
    original = {"a": {"b": 1}, "empty": None}
    assert override(original, ["a.c.d=2", "x.y.z=[1, 2]", "empty.k=v", "a.b=3"]) == {
        "a": {"b": 3, "c": {"d": 2}},
        "empty": {"k": "v"},
        "x": {"y": {"z": [1, 2]}},
    }
    assert original == {"a": {"b": 1}, "empty": None}


def test_the_last_of_several_overrides_counts() -> None:
    assert override({}, ["a=1", "a=2"]) == {"a": 2}


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("train.seed", "--set takes key=value, as in --set train.seed=2, not 'train.seed'."),
        ("=3", "--set takes key=value, as in --set train.seed=2, not '=3'."),
        ("train.seed=[", "--set train.seed: '[' is not a YAML value."),
        ("model.name.first=x", "--set model.name.first: 'name' is a value and has no keys."),
    ],
)
def test_a_wrong_override_is_told(assignment: str, sentence: str) -> None:
    with pytest.raises(RecipeError) as caught:
        override(SMALL, [assignment])
    assert str(caught.value) == sentence


def test_files_are_relative_to_the_recipe_that_names_them(
    small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = small.parent
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    data = Recipe.load(small).data
    assert data.train == (folder / "a.jsonl", folder / "sub" / "b.jsonl")
    assert [path.resolve() for path in data.dev] == [folder.parent / "c.jsonl"]
    monkeypatch.chdir(folder.parent)
    assert Recipe.load(f"{folder.name}/recipe.yaml").data == data


def test_files_of_an_override_are_relative_to_where_the_user_stands(
    small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    here = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(here)
    data = Recipe.load(small, ["data.dev=[mine.jsonl]"]).data
    assert data.dev == (here / "mine.jsonl",)
    assert data.train[0] == small.parent / "a.jsonl"
    assert Recipe.load(small, ["data={train: [mine.jsonl]}"]).data.train == (here / "mine.jsonl",)


def test_absolute_files_stay(small: Path) -> None:
    small.write_text("model: {name: seq-ner}\ndata: {train: [/data/a.jsonl]}\n")
    assert Recipe.load(small).data.train == (Path("/data/a.jsonl"),)


@pytest.mark.parametrize("path", [*SHIPPED, None], ids=lambda path: path.stem if path else "own files")
def test_a_dumped_recipe_loads_as_the_same_recipe(path: Path | None, small: Path, tmp_path_factory: Any) -> None:
    recipe = Recipe.load(path or small, ["train.seed=3"])
    dumped = tmp_path_factory.mktemp("run") / "recipe.yaml"
    dumped.write_text(recipe.dump())
    assert Recipe.load(dumped) == recipe
    assert Recipe.load(dumped).dump() == recipe.dump()


def test_a_dumped_recipe_writes_out_every_option() -> None:
    dumped = yaml.safe_load(Recipe.parse(SMALL).dump())
    assert set(dumped) == {"encoder", "model", "bundle", "data", "train", "evaluation"}
    assert (dumped["train"]["epochs"], dumped["encoder"]["pooling"]) == (10, "max")


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("train.epoch=3", "train.epoch: there is no such key."),
        ("training.epochs=3", "training: there is no such key."),
        ("train.epochs=many", "train.epochs: Input should be a valid integer"),
        ("train.epochs=0", "train.epochs: Input should be greater than or equal to 1, not 0."),
        ("train.seed=-1", "train.seed: "),
        ("train.precision=fp16", "train.precision: Input should be 'fp32' or 'bf16', not 'fp16'."),
        ("train=3", "train: "),
        ("model.name=nope", "there is no model 'nope'; there are biaffine, dspert, lear, qa, seq-ner"),
        ("model.taging=crf", "seq-ner: taging: there is no such key."),
        ("model.tagging=hmm", "seq-ner: tagging: Input should be 'softmax' or 'crf', not 'hmm'."),
        ("bundle={name: span-ner, alpha: 2}", "bundle.alpha: Input should be less than or equal to 1, not 2."),
        ("bundle={name: span-ner, negatives: -1}", "span-ner: negatives: "),
        ("data.train=[a.jsonl]", "data: give either `corpus` or `train` files."),
        ("data={}", "data: give either `corpus` or `train` files."),
        ("data.overlaps=keep", "data.overlaps: "),
        ("data.sample=0", "data.sample: Input should be greater than or equal to 1, not 0."),
        ("data.sample=some", "data.sample: Input should be a valid integer"),
        ("data.shots=0", "data.shots: Input should be greater than or equal to 1, not 0."),
        ("data.shots=2.5", "data.shots: Input should be a valid integer"),
        ("data.leave_out=Place", "data.leave_out: Input should be a valid tuple, not 'Place'."),
        ("data.leave_out=[3]", "data.leave_out.0: Input should be a valid string, not 3."),
        ("data.shot=2", "data.shot: there is no such key."),
        ("encoder.pooling=sum", "encoder.pooling: "),
        ("model=null", "model: "),
    ],
)
def test_a_wrong_recipe_is_told_in_one_sentence_with_its_key(assignment: str, sentence: str) -> None:
    with pytest.raises(RecipeError) as caught:
        Recipe.parse(override(SMALL, [assignment]), "mine.yaml")
    told = str(caught.value)
    assert told.startswith(f"mine.yaml: {sentence}")
    assert told.endswith(".")
    assert "\n" not in told


def test_a_missing_section_is_told() -> None:
    with pytest.raises(RecipeError, match=r"^mine\.yaml: model: this key is required\.$"):
        Recipe.parse({"data": {"corpus": "demo"}}, "mine.yaml")


def test_further_problems_are_counted() -> None:
    with pytest.raises(RecipeError, match=r"train\.epochs: .* \(1 more\)\.$"):
        Recipe.parse(override(SMALL, ["train.epochs=0", "train.clip=0"]))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"model: {name: [}\n", r"recipe\.yaml:1: this is not YAML \(.+\); correct it\."),
        (b"model: x\n\tdata: y\n", r"recipe\.yaml:2: this is not YAML \(.+\); correct it\."),
        (b"model: \x00\n", r"recipe\.yaml: this is not YAML \(.+\); correct it\."),
        (b"just words\n", r"recipe\.yaml: a recipe is a mapping with the sections encoder, model"),
        (b"", r"recipe\.yaml: a recipe is a mapping with the sections encoder, model"),
        ("model: é".encode("latin-1"), r"recipe\.yaml: byte 0xe9 is not UTF-8; save the recipe as UTF-8\."),
    ],
    ids=["bracket", "tab", "nul", "text", "empty", "latin-1"],
)
def test_a_file_that_is_no_recipe_is_told_in_one_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_bytes(content)
    with pytest.raises(RecipeError, match=sentence) as caught:
        Recipe.load(path)
    assert "\n" not in str(caught.value)


def test_a_recipe_never_runs_code(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(f"model: !!python/object/apply:os.mkdir [{tmp_path / 'made'}]\n")
    with pytest.raises(RecipeError, match="this is not YAML"):
        Recipe.load(path)
    assert not (tmp_path / "made").exists()


TOLD = {"entities": {"Person": "people", "Place": "towns"}, "relations": {"in": "is found in"}}


@pytest.mark.parametrize("sections", [("entities", "relations"), ("entities",), ("relations",), ()], ids=str)
def test_descriptions_stand_in_the_recipe_or_in_a_file_of_the_same_sections(
    tmp_path: Path, sections: tuple[str, ...]
) -> None:
    given = {section: TOLD[section] for section in sections}
    (tmp_path / "told.yaml").write_text(yaml.safe_dump(given) if given else "# none yet\n")
    inline = Recipe.parse({**SMALL, "data": {"corpus": "demo", "descriptions": given}}).data.descriptions
    assert inline == Descriptions.load(tmp_path / "told.yaml") == Descriptions(**given)
    assert isinstance(inline, Descriptions)
    assert (inline.entities, inline.relations) == (given.get("entities", {}), given.get("relations", {}))


def test_a_file_of_descriptions_is_relative_to_the_recipe_that_names_it(
    small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    here = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(here)
    small.write_text("model: {name: seq-ner}\ndata: {corpus: demo, descriptions: sub/told.yaml}\n")
    assert Recipe.load(small).data.descriptions == small.parent / "sub" / "told.yaml"
    assert Recipe.load(small, ["data.descriptions=mine.yaml"]).data.descriptions == here / "mine.yaml"
    whole = "data={corpus: demo, descriptions: mine.yaml}"
    assert Recipe.load(small, [whole]).data.descriptions == here / "mine.yaml"
    assert Recipe.load(small, ["data.shots=1"]).data.descriptions == small.parent / "sub" / "told.yaml"


@pytest.mark.parametrize(
    "given", ["told.yaml", TOLD, {"entities": {"Person": "a: b\n – é"}}], ids=["file", "all", "odd"]
)
def test_a_dumped_recipe_holds_descriptions_and_what_is_learnt(small: Path, tmp_path: Path, given: Any) -> None:
    content = {"corpus": "demo", "descriptions": given, "sample": 9, "shots": 2, "leave_out": ["Place"]}
    small.write_text(yaml.safe_dump({**SMALL, "data": content}))
    recipe = Recipe.load(small)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recipe.yaml").write_text(recipe.dump())
    assert Recipe.load(tmp_path / "run" / "recipe.yaml") == recipe
    assert (recipe.data.sample, recipe.data.shots, recipe.data.leave_out) == (9, 2, ("Place",))


WRONG_DESCRIPTIONS = [
    ({"entites": {"Person": "people"}}, "entites: there is no such key"),
    ({"Person": "people"}, "Person: there is no such key"),
    ({"entities": ["Person"]}, "entities: Input should be a valid dictionary, not ['Person']"),
    ({"entities": {"Person": 3}}, "entities.Person: Input should be a valid string, not 3"),
    ({"relations": {"in": ["a", "b"]}}, "relations.in: Input should be a valid string, not ['a', 'b']"),
    (["Person"], "descriptions are a mapping with the sections entities and relations"),
]


@pytest.mark.parametrize(("given", "sentence"), WRONG_DESCRIPTIONS)
def test_wrong_descriptions_in_the_recipe_are_told_in_one_sentence(given: Any, sentence: str) -> None:
    with pytest.raises(RecipeError) as caught:
        Recipe.parse({**SMALL, "data": {"corpus": "demo", "descriptions": given}}, "mine.yaml")
    told = str(caught.value)
    assert told.startswith("mine.yaml: data.descriptions")
    assert sentence in told
    assert told.endswith(".")
    assert "\n" not in told


@pytest.mark.parametrize(("given", "sentence"), WRONG_DESCRIPTIONS)
def test_a_file_of_wrong_descriptions_is_told_in_one_sentence(tmp_path: Path, given: Any, sentence: str) -> None:
    path = tmp_path / "told.yaml"
    path.write_text(yaml.safe_dump(given))
    with pytest.raises(RecipeError) as caught:
        Descriptions.load(path)
    told = str(caught.value)
    assert told.startswith(f"{path}: ")
    assert sentence in told
    assert told.endswith(".")
    assert "\n" not in told


def test_a_file_of_descriptions_that_is_no_yaml_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "told.yaml"
    path.write_text("entities:\n  Person: [people\n")
    with pytest.raises(RecipeError, match=r"told\.yaml:3: this is not YAML \(.+\); correct it\."):
        Descriptions.load(path)
