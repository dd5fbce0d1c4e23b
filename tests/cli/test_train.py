"""`spanwise train`: a recipe in, a model folder out, wrong input in one sentence."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise.recipe import Recipe

Command = Callable[..., Any]


@pytest.fixture
def files(easy_files: Path, easy_recipe: Path, tmp_path: Path) -> Path:
    """A copy of the easy corpus and its recipe, to be damaged; the run goes to `run`."""
    return Path(shutil.copytree(easy_files, tmp_path / "files"))


def train(command: Command, files: Path, *overrides: str) -> Any:
    settings = [part for override in ("train.epochs=1", *overrides) for part in ("--set", override)]
    return command("train", files / "recipe.yaml", "--out", files / "run", *settings)


def test_json_is_one_object_and_nothing_else(command: Command, easy_recipe: Path, tmp_path: Path) -> None:
    done = command("train", easy_recipe, "--out", tmp_path / "run", "--set", "train.epochs=2", "--json")
    assert done.code == 0
    summary = json.loads(done.out)
    assert set(summary) == {"folder", "dev_f1", "best_epoch", "steps", "seconds", "selected_by"}
    assert summary["folder"] == str(tmp_path / "run")
    assert summary["selected_by"] == "dev F1 of entities"
    assert summary["steps"] == 32
    assert summary["dev_f1"] == json.loads((tmp_path / "run" / "run.json").read_text())["dev_f1"]


def test_a_line_for_people_and_one_per_epoch(command: Command, files: Path) -> None:
    done = train(command, files, "train.epochs=6", "model.name=seq-ner")
    assert done.code == 0
    trained, following = done.out.splitlines()
    assert re.fullmatch(
        rf"trained {re.escape(str(files / 'run'))} in \d+ s, dev F1 of entities \d+\.\d\d \(epoch \d\)", trained
    )
    assert following == f"next: spanwise evaluate {files / 'run'}"
    start, *epochs = [line for line in done.err.splitlines() if not line.startswith("note: ")]
    assert start == "training: 6 epochs, 96 steps; keeps the best dev F1 of entities"
    assert [line.split("  ")[0] for line in epochs] == [f"epoch {number}/6" for number in range(1, 7)]
    assert all("dev F1 of entities" in line and line.endswith(" left") for line in epochs)


def test_the_next_command_works_as_printed(command: Command, files: Path) -> None:
    following = train(command, files).out.splitlines()[-1]
    assert command(*shlex.split(following.removeprefix("next: spanwise "))).code == 0


@pytest.mark.parametrize(
    ("override", "arguments"),
    [
        ("data.test=[]", " TEST_FILE"),
        ("data.train_on=[train, test]", " TEST_FILE"),
        ("data={corpus: demo, overlaps: outermost, sample: 8}", ""),
    ],
)
def test_the_next_command_asks_for_a_file_where_the_recipe_names_no_test_split(
    command: Command, files: Path, override: str, arguments: str
) -> None:
    done = train(command, files, override)
    assert done.out.splitlines()[-1] == f"next: spanwise evaluate {files / 'run'}{arguments}"


def test_the_next_command_reads_a_file_as_the_recipe_does(command: Command, files: Path) -> None:
    layers = "".join(f"Bo{number} B-Person O\nleft O O\nKell O B-Place\n\n" for number in range(16))
    (files / "layers.conll").write_text(layers)
    own = f"data={{train: [{files / 'layers.conll'}], format: conll, tag_columns: [2, 3]}}"
    following = train(command, files, own).out.splitlines()[-1]
    assert following.endswith(" TEST_FILE --format conll --tag-columns 2,3")
    filled = following.replace("TEST_FILE", str(files / "layers.conll")).removeprefix("next: spanwise ")
    assert command(*shlex.split(filled)).code == 0


def test_a_run_that_learns_nothing_says_so_with_likely_causes(command: Command, files: Path) -> None:
    rates = ("train.encoder_lr=1e-9", "train.task_lr=1e-9")
    done = train(command, files, "model={name: span-ner, max_width: 1}", "evaluation.threshold=0.99", *rates)
    assert done.code == 0
    note = done.err.splitlines()[-1]
    assert note.startswith("note: the dev F1 of entities is 0. Likely causes: too few steps (16; raise train.epochs")
    for cause in ("(train.encoder_lr 1e-09, train.task_lr 1e-09)", "'Place', 49 times", "max_width of 1 (25 in dev)"):
        assert cause in note


def test_a_second_call_goes_on_and_a_finished_run_is_refused_without_force(command: Command, files: Path) -> None:
    train(command, files)
    assert "holds a finished run" in train(command, files).refusal
    command_line = ("train", files / "recipe.yaml", "--out", files / "run", "--set", "train.epochs=1", "--force")
    assert command(*command_line).code == 0


def test_only_the_first_of_several_processes_prints(
    command: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    done = train(command, files)
    assert (done.code, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("train.epoch=1", "recipe.yaml: train.epoch: unknown key (did you mean epochs?)."),
        ("train.epochs=0", "recipe.yaml: train.epochs: Input should be greater than or equal to 1, not 0."),
        ("train.epochs", "--set takes key=value, as in --set train.seed=2, not 'train.epochs'."),
        ("model.name=nope", "unknown model 'nope'; choose from "),
        ("model.tagging=nope", "recipe.yaml: seq-ner: tagging: "),
        ("bundle.name=seq-ner", "'seq-ner' cannot be bundled with 'seq-ner'; bundle a span model with a tagger."),
        ("data={corpus: nope}", "unknown corpus 'nope'; choose from "),
        ("data={corpus: demo}", "has nested entities, which this seq-ner does not predict"),
        ("encoder.name=/no/such/folder", "encoder folder '/no/such/folder' does not exist; give another folder"),
        ("encoder.name=nobody/nothing", "encoder 'nobody/nothing' cannot be loaded ("),
        ("encoder.max_pieces=512", "encoder.max_pieces is 512, but "),
        ("data.train=[no.jsonl]", "no.jsonl: no such file or folder; check the path."),
        ("data.format=nope", "the format 'nope' is unknown; choose one of "),
    ],
)
def test_a_wrong_value_is_refused(command: Command, files: Path, override: str, sentence: str) -> None:
    assert sentence in train(command, files, override).refusal
    assert not (files / "run").exists() or not list((files / "run").iterdir())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "a recipe is a mapping with the sections"),
        (b"model: [\n", "invalid YAML ("),
        ("model: {name: é}".encode("latin-1"), "byte 0xe9 is not UTF-8; save the recipe as UTF-8."),
        (b"data: {corpus: demo}", "model: this key is required."),
    ],
    ids=["empty", "not YAML", "latin-1", "no model"],
)
def test_a_file_that_is_no_recipe_is_refused(command: Command, files: Path, content: bytes, sentence: str) -> None:
    (files / "recipe.yaml").write_bytes(content)
    refusal = command("train", files / "recipe.yaml", "--out", files / "run").refusal
    assert "recipe.yaml" in refusal
    assert sentence in refusal


def test_a_recipe_that_is_not_there_is_refused(command: Command, tmp_path: Path) -> None:
    refusal = command("train", tmp_path / "no.yaml", "--out", tmp_path / "run").refusal
    assert "recipe file" in refusal
    assert "spanwise init" in refusal
    assert str(tmp_path) in command("train", tmp_path, "--out", tmp_path / "run").refusal


@pytest.mark.parametrize(
    ("split", "content", "sentence"),
    [
        ("train", b"", "the file is empty: it holds no documents."),
        ("train", b"\n\n", "the file is empty: it holds no documents."),
        ("dev", b"", "the file is empty: it holds no documents."),
        ("train", '{"text": "André", "entities": []}\n'.encode("latin-1"), ":1: byte 0xe9 is not UTF-8"),
        ("train", b'{"text": "Bo", "entities": [{"start": 0, "end": 9, "label": "Person"}]}\n', "train.jsonl:1: "),
        ("train", b'{"text": "Bo"\n', "train.jsonl:1: the line is not a JSON object"),
        ("dev", b'{"text": "Mars", "entities": [{"start": 0, "end": 4, "label": "Planet"}]}\n', "['Planet']"),
    ],
    ids=["empty", "blank", "empty dev", "latin-1", "beyond the text", "cut off", "unknown label in dev"],
)
def test_bad_data_is_refused(command: Command, files: Path, split: str, content: bytes, sentence: str) -> None:
    (files / f"{split}.jsonl").write_bytes(content)
    assert sentence in train(command, files).refusal
    assert not (files / "run").exists()


def test_data_that_marks_nothing_is_refused(command: Command, files: Path) -> None:
    (files / "train.jsonl").write_text('{"text": "Bo", "entities": []}\n')
    assert (
        "contains no entities; check the files and their format."
        in train(command, files, "data.dev=[]", "data.test=[]").refusal
    )


def test_a_folder_instead_of_a_file_is_refused(command: Command, files: Path) -> None:
    (files / "train.jsonl").unlink()
    (files / "train.jsonl").mkdir()
    assert "this is a folder" in train(command, files).refusal


def test_gold_across_words_is_reported_and_training_goes_on(command: Command, files: Path) -> None:
    with (files / "train.jsonl").open("a") as file:
        file.write('{"text": "Unbreakable", "id": "odd", "entities": [{"start": 0, "end": 2, "label": "Person"}]}\n')
    done = train(command, files)
    assert done.code == 0
    assert "note: 1 training entity does not fall on word boundaries" in done.err
    assert "'Un' in document 'odd'" in done.err


def test_bad_records_are_passed_over_when_the_recipe_says_so(command: Command, files: Path) -> None:
    with (files / "train.jsonl").open("a") as file:
        file.write("{oops\n")
    assert "train.jsonl:65: " in train(command, files).refusal
    assert train(command, files, "data.skip_bad=true").code == 0


def test_threads_that_are_no_number_are_refused(command: Command, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANWISE_THREADS", "many")
    assert "SPANWISE_THREADS is a number of threads" in train(command, files).refusal


def test_shots_reach_the_recipe_of_the_run(command: Command, files: Path) -> None:
    settings = ("--set", "train.epochs=3", "--set", "train.batch_size=2", "--shots", "2", "--json")
    done = command("train", files / "recipe.yaml", "--out", files / "run", *settings)
    assert done.code == 0
    summary = json.loads(done.out)
    assert (summary["steps"], summary["dev_f1"]) == (3 * 2, None)  # two documents for each of two labels, no dev
    assert Recipe.load(files / "run" / "recipe.yaml").data.shots == 2


@pytest.mark.parametrize("shots", ["0", "-1", "few"])
def test_shots_that_are_no_number_of_documents_are_refused(command: Command, files: Path, shots: str) -> None:
    done = command("train", files / "recipe.yaml", "--out", files / "run", "--shots", shots)
    assert (done.code, done.out) == (2, "")
    assert "--shots" in done.err
    assert "Traceback" not in done.err
    assert not (files / "run").exists()
