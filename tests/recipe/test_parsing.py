"""Reading recipes: shipped ones, overrides, files, and one sentence for whatever is wrong."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from spanwise.errors import RecipeError
from spanwise.recipe import RECIPES, Descriptions, Recipe, find_recipe, override

SHIPPED = sorted(RECIPES.glob("*.yaml"))
SMALL: dict[str, Any] = {"model": {"name": "seq-ner"}, "data": {"corpus": "demo"}}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_recipe_is_valid_and_opens_with_its_command(path: Path) -> None:
    recipe = Recipe.load(path)
    first, second = path.read_text().splitlines()[:2]
    assert first.startswith(f"# spanwise train {path.stem} ")
    assert "--out runs/" in first
    assert second.startswith("# ")
    assert recipe.data.corpus or recipe.data.corpora


def test_a_recipe_is_found_by_its_path_or_by_the_name_of_a_shipped_one(small: Path) -> None:
    assert find_recipe(small) == small
    assert find_recipe("seq-ner") == find_recipe("seq-ner.yaml") == RECIPES / "seq-ner.yaml"


@pytest.mark.parametrize("name", ["nope", "nope.yaml", "elsewhere/seq-ner", "suites/bl-ner", "advice/rules", "rules"])
def test_an_unknown_recipe_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(
        RecipeError, match=r"recipe file .* does not exist; .*choose from .*seq-ner, span, span-ner, spert, stsn"
    ):
        find_recipe(name)


@pytest.mark.parametrize(
    ("assignment", "section", "key", "value"),
    [
        ("train.seed=7", "train", "seed", 7),
        ("train.encoder_lr=2e-4", "train", "encoder_lr", 2e-4),  # YAML reads this one as text
        ("train.tracker=tensorboard", "train", "tracker", "tensorboard"),
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
def test_a_wrong_override_is_refused(assignment: str, sentence: str) -> None:
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


def test_files_of_an_override_are_relative_to_the_working_directory(
    small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    here = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(here)
    data = Recipe.load(small, ["data.dev=[mine.jsonl]"]).data
    assert data.dev == (here / "mine.jsonl",)
    assert Recipe.load(small, ["data.dev=mine.jsonl"]).data == data
    assert Recipe.load(small, ["data.dev=[mine.jsonl, sub/b.jsonl]"]).data.dev[1] == here / "sub" / "b.jsonl"
    assert Recipe.load(small, ["data.dev="]).data.dev == ()
    assert data.train[0] == small.parent / "a.jsonl"
    assert Recipe.load(small, ["data={train: [mine.jsonl]}"]).data.train == (here / "mine.jsonl",)


def test_files_can_be_appended_to_those_of_the_recipe(
    small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = Recipe.load(small).data
    here = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(here)
    assert Recipe.load(small, ["data.train+=done.json"]).data.train == (*before.train, here / "done.json")
    twice = ["data.train+=[a.json, b.json]", "data.train+=c.json"]
    assert Recipe.load(small, twice).data.train == (*before.train, here / "a.json", here / "b.json", here / "c.json")
    replaced = Recipe.load(small, ["data.train=x.json", "data.train+=done.json"]).data.train
    assert replaced == (here / "x.json", here / "done.json")
    assert Recipe.load(small, ["data.test+=new.json"]).data.test == (here / "new.json",)
    assert Recipe.load(small, ["data.leave_out+=Person"]).data.leave_out == ("Person",)


def test_absolute_files_stay(small: Path) -> None:
    small.write_text("model: {name: seq-ner}\ndata: {train: [/data/a.jsonl]}\n")
    assert Recipe.load(small).data.train == (Path("/data/a.jsonl"),)


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("train.epoch=3", "train.epoch: unknown key (did you mean epochs?)."),
        ("training.epochs=3", "training: unknown key (did you mean train?)."),
        ("train.banana=3", "train.banana: unknown key."),
        ("bundle={name: span-ner, alhpa: 0.2}", "span-ner: alhpa: unknown key (did you mean alpha?)."),
        ("bundle={name: span-ner, widht_dim: 5}", "span-ner: widht_dim: unknown key (did you mean width_dim?)."),
        ("model.alhpa=0.2", "seq-ner: alhpa: unknown key."),
        ("data.descriptions={entity: {Person: x}}", "data.descriptions: entity: unknown key (did you mean entities?)."),
        ("train.epochs=many", "train.epochs: Input should be a valid integer"),
        ("train.epochs=0", "train.epochs: Input should be greater than or equal to 1, not 0."),
        ("train.seed=-1", "train.seed: "),
        ("train.precision=fp16", "train.precision: Input should be 'fp32' or 'bf16', not 'fp16'."),
        ("train=3", "train: "),
        ("model.name=nope", "unknown model 'nope'; choose from biaffine, dspert, lear, "),
        ("model.taging=crf", "seq-ner: taging: unknown key (did you mean tagging?)."),
        ("model.tagging=hmm", "seq-ner: tagging: Input should be 'softmax' or 'crf', not 'hmm'."),
        ("bundle={name: span-ner, alpha: 2}", "bundle.alpha: Input should be less than or equal to 1, not 2."),
        ("bundle={name: span-ner, negatives: -1}", "span-ner: negatives: "),
        ("model={name: spert, max_width: 0}", "spert: max_width: Input should be greater than or equal to 1, not 0."),
        ("data.train=[a.jsonl]", "data: give either `corpus` or files (`train`, `dev`, `test`)."),
        ("data.dev=a.jsonl", "data: give either `corpus` or files (`train`, `dev`, `test`)."),
        ("data.sample_dev=0", "data.sample_dev: Input should be greater than or equal to 1, not 0."),
        ("data.overlaps=keep", "data.overlaps: "),
        ("data.sample=0", "data.sample: Input should be greater than or equal to 1, not 0."),
        ("data.sample=some", "data.sample: Input should be a valid integer"),
        ("data.shots=0", "data.shots: Input should be greater than or equal to 1, not 0."),
        ("data.shots=2.5", "data.shots: Input should be a valid integer"),
        ("data.leave_out=Place", "data.leave_out: Input should be a valid tuple, not 'Place'."),
        ("data.leave_out=[3]", "data.leave_out.0: Input should be a valid string, not 3."),
        ("data.shot=2", "data.shot: unknown key (did you mean shots?)."),
        ("encoder.pooling=sum", "encoder.pooling: "),
        ("model=null", "model: "),
        ("model={}", "model.name: this key is required."),
        ("model={tagging: crf}", "model.name: this key is required."),
        ("model={name: 3}", "model.name: Input should be a valid string, not 3."),
        ("model.config={tagging: crf}", "seq-ner: config: unknown key."),
        ("bundle={name: seq-ner}", "'seq-ner' cannot be bundled with 'seq-ner'; bundle a span model with a tagger."),
        ("evaluation.threshold=2", "evaluation.threshold: Input should be less than or equal to 1, not 2."),
    ],
)
def test_a_wrong_recipe_is_refused_in_one_sentence_with_its_key(assignment: str, sentence: str) -> None:
    with pytest.raises(RecipeError) as caught:
        Recipe.parse(override(SMALL, [assignment]), "mine.yaml")
    message = str(caught.value)
    assert message.startswith(f"mine.yaml: {sentence}")
    assert message.endswith(".")
    assert "\n" not in message


def test_a_missing_section_is_reported() -> None:
    with pytest.raises(RecipeError, match=r"^mine\.yaml: model: this key is required\.$"):
        Recipe.parse({"data": {"corpus": "demo"}}, "mine.yaml")


def test_further_problems_are_counted() -> None:
    with pytest.raises(RecipeError, match=r"train\.epochs: .* \(1 more\)\.$"):
        Recipe.parse(override(SMALL, ["train.epochs=0", "train.clip=0"]))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"model: {name: [}\n", r"recipe\.yaml:1: invalid YAML \(.+\); correct it\."),
        (b"model: x\n\tdata: y\n", r"recipe\.yaml:2: invalid YAML \(.+\); correct it\."),
        (b"model: \x00\n", r"recipe\.yaml: invalid YAML \(.+\); correct it\."),
        (b"just words\n", r"recipe\.yaml: a recipe is a mapping with the sections encoder, model"),
        (b"", r"recipe\.yaml: a recipe is a mapping with the sections encoder, model"),
        ("model: é".encode("latin-1"), r"recipe\.yaml: byte 0xe9 is not UTF-8; save the recipe as UTF-8\."),
    ],
    ids=["bracket", "tab", "nul", "text", "empty", "latin-1"],
)
def test_a_file_that_is_no_recipe_is_refused_in_one_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_bytes(content)
    with pytest.raises(RecipeError, match=sentence) as caught:
        Recipe.load(path)
    assert "\n" not in str(caught.value)


def test_a_recipe_never_runs_code(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(f"model: !!python/object/apply:os.mkdir [{tmp_path / 'made'}]\n")
    with pytest.raises(RecipeError, match="invalid YAML"):
        Recipe.load(path)
    assert not (tmp_path / "made").exists()


def _doubling(first: str, more: str) -> str:
    """Aliases of aliases: a few hundred bytes that stand for nine to the power of nine values."""
    return first + "".join(
        f"{new}: &{new} {more.format(','.join([f'*{old}'] * 9))}\n" for old, new in pairwise("abcdefghi")
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (_doubling("a: &a [x, x, x, x, x, x, x, x, x]\n", "[{}]"), "more than 100,000 values with all aliases"),
        (_doubling("a: &a {x: 1}\n", "{{<<: [{}]}}"), "more than 100,000 values with all aliases"),
        ("model: [" + "1," * 110_000 + "]", "more than 100,000 values"),
        ("a: &a [*a]\n", "nested deeper than 50 levels"),
        ("a: &a {<<: *a}\n", "nested deeper than 50 levels"),
        ("model: " + "[" * 60 + "]" * 60, "nested deeper than 50 levels"),
        ("model: " + "[" * 10_000, "invalid YAML"),
        ("model: " + "1:1" * 100_000, "a number of more than 1,000 characters"),
        ("model: " + "x" * 1_000_000, "larger than 1,000,000 bytes"),
    ],
    ids=["aliases", "merges", "values", "itself", "merges itself", "deep", "very deep", "number", "large"],
)
def test_a_recipe_beyond_the_bounds_is_refused_at_once(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(content)
    began = time.process_time()
    with pytest.raises(RecipeError, match=reason) as caught:
        Recipe.load(path)
    assert time.process_time() - began < 10
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_aliases_within_the_bounds_are_read(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("model: {name: seq-ner}\ndata: {train: &files [/a.jsonl], dev: *files}\n")
    data = Recipe.load(path).data
    assert data.train == data.dev == (Path("/a.jsonl"),)


LONG = "x" * 10_000


@pytest.mark.parametrize(
    "assignment",
    [
        LONG,
        f"={LONG}",
        f"{LONG}=1",
        f"train.{LONG}=1",
        f"model.{LONG}=1",
        f"model.name.{LONG}=1",
        f"{LONG}.a=1",
        f"data.skip_bad.{LONG}.a=1",
        ".".join("a" * 5_000) + "=1",
        f"train.seed=[{LONG}",
        f"train.seed={LONG}",
        f"train.seed={'9' * 10_000}",
        f"train.seed={'x' * 100_001}",
        f"model.name={LONG}",
        f"bundle.name={LONG}",
        f"encoder.name={LONG}",
        f"encoder.pooling={LONG}",
        f"data.corpus={LONG}",
        f"data={{train: {LONG}}}",
        f"data.leave_out=[{LONG}]",
        f"data.scheme={LONG}",
        f"model={{name: stsn, double_tags: [[{LONG}, {LONG}]]}}",
        f"a={_doubling('{a: &a [x, x, x, x, x, x, x, x, x],', '[{}],')}}}".replace("\n", ""),
    ],
    ids=lambda assignment: assignment[:30],
)
def test_a_long_override_is_shortened_in_its_error(assignment: str) -> None:
    with pytest.raises(RecipeError) as caught:
        Recipe.parse(override({**SMALL, "data": {"corpus": "demo", "skip_bad": True}}, [assignment]), "mine.yaml")
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)
