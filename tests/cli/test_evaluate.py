"""`spanwise evaluate`: scores as one JSON object or as a table, wrong input in one sentence."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
SCORES = {"precision", "recall", "f1"}


def test_json_is_one_object_with_the_promised_keys(command: Command, trained: Path, easy_files: Path) -> None:
    done = command("evaluate", trained, easy_files / "test.jsonl", "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert set(found) == {"entities", "boundaries", "widths", "nesting", "relations"}
    assert found["relations"] is None
    assert set(found["boundaries"]) == set(found["entities"]["micro"])
    assert set(found["entities"]) == {"micro", "macro", "labels"}
    assert set(found["entities"]["micro"]) >= SCORES
    assert set(found["entities"]["macro"]) == SCORES
    assert set(found["entities"]["labels"]) == {"Person", "Place"}
    assert found["entities"]["micro"]["f1"] >= 0.8


def test_the_table_holds_labels_and_averages_in_per_cent(command: Command, trained: Path, easy_files: Path) -> None:
    micro = json.loads(command("evaluate", trained, easy_files / "test.jsonl", "--json").out)["entities"]["micro"]
    done = command("evaluate", trained, easy_files / "test.jsonl")
    assert done.code == 0
    rows = {line.split()[1]: line for line in done.out.splitlines() if len(line.split()) > 3}
    assert {"Person", "Place", "micro", "macro"} <= set(rows)
    assert f"{100 * micro['f1']:.2f}" in rows["micro"]


def test_several_files_are_scored_together(command: Command, trained: Path, easy_files: Path) -> None:
    counts = [
        json.loads(command("evaluate", trained, *files, "--json").out)["entities"]["micro"]["gold"]
        for files in (
            [easy_files / "test.jsonl"],
            [easy_files / "dev.jsonl"],
            [easy_files / "test.jsonl", easy_files / "dev.jsonl"],
        )
    ]
    assert counts[2] == counts[0] + counts[1]


def test_every_named_column_of_tags_is_scored(command: Command, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "gold.conll").write_text("Bo B-Person O\nleft O O\nKell O B-Place\n")

    def gold(*options: str) -> dict[str, int]:
        done = command("evaluate", trained, tmp_path / "gold.conll", *options, "--json")
        assert done.code == 0, done.err
        return {label: score["gold"] for label, score in json.loads(done.out)["entities"]["labels"].items()}

    assert gold("--tag-columns", "2,3") == {"Person": 1, "Place": 1}
    assert gold("--tag-columns", "2")["Person"] == 1
    assert gold("--tag-columns", "2").get("Place", 0) == 0


@pytest.mark.parametrize("options", [["--tag-columns", "2"], ["--format", "conll"], ["--skip-bad"]], ids=lambda o: o[0])
def test_options_of_files_are_refused_without_files(command: Command, trained: Path, options: list[str]) -> None:
    sentence = (
        "--format, --tag-columns, --annotator and --skip-bad are for files; give labeled files, or leave them out."
    )
    assert command("evaluate", trained, *options).refusal == sentence


def test_without_files_the_models_own_test_data_is_scored(command: Command, trained: Path, easy_files: Path) -> None:
    own = command("evaluate", trained, "--json")
    assert own.code == 0
    assert own.out == command("evaluate", trained, easy_files / "test.jsonl", "--json").out


def test_a_model_without_test_data_says_how_to_give_a_file(command: Command, trained: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(trained, tmp_path / "model"))
    recipe = (model / "recipe.yaml").read_text()
    (model / "recipe.yaml").write_text(re.sub(r"^  test:\n(  - .*\n)+", "", recipe, flags=re.MULTILINE))
    refusal = command("evaluate", model).refusal
    assert "has no split 'test'; it has ['dev', 'train']; " in refusal
    assert f"give a labeled file (`spanwise evaluate {model} FILE`), or choose a split with --split." in refusal
    (model / "recipe.yaml").unlink()
    assert (
        f"give a labeled file (`spanwise evaluate {model} FILE`), or --corpus NAME."
        in command("evaluate", model).refusal
    )


def test_gold_across_words_counts_as_missed(command: Command, trained: Path, tmp_path: Path) -> None:
    data = tmp_path / "odd.jsonl"
    data.write_text('{"text": "Unbreakable", "entities": [{"start": 0, "end": 2, "label": "Person"}]}\n')
    micro = json.loads(command("evaluate", trained, data, "--json").out)["entities"]["micro"]
    assert (micro["gold"], micro["correct"]) == (1, 0)


def test_a_threshold_of_one_predicts_nothing_that_is_unsure(command: Command, trained: Path, easy_files: Path) -> None:
    done = command("evaluate", trained, easy_files / "test.jsonl", "--threshold", "1", "--json")
    assert json.loads(done.out)["entities"]["micro"]["predicted"] == 0


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty: it holds no documents."),
        (
            b'{"text": "Mars", "entities": [{"start": 0, "end": 4, "label": "Planet"}]}\n',
            "the entity labels ['Planet']",
        ),
        ('{"text": "André", "entities": []}\n'.encode("latin-1"), "data.jsonl:1: byte 0xe9 is not UTF-8"),
        (b"{oops\n", "data.jsonl:1: the line is not a JSON object"),
    ],
    ids=["empty", "unknown label", "latin-1", "cut off"],
)
def test_bad_data_is_refused(command: Command, trained: Path, tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "data.jsonl").write_bytes(content)
    assert sentence in command("evaluate", trained, tmp_path / "data.jsonl", "--json").refusal


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{test}", "--corpus", "demo"], "give either labeled files or --corpus NAME."),
        (["--corpus", "nope"], "unknown corpus 'nope'; choose from "),
        (["--corpus", "demo", "--split", "nope"], "corpus 'demo' has no split 'nope'; it has "),
        (["--split", "nope"], "has no split 'nope'; it has "),
        (["{folder}"], "this is a folder"),
        (["{folder}/no.jsonl"], "no.jsonl: no such file or folder; check the path."),
        (["{test}", "--format", "nope"], "the format 'nope' is unknown; choose one of "),
    ],
)
def test_wrong_arguments_are_refused(
    command: Command, trained: Path, easy_files: Path, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    filled = [argument.format(test=easy_files / "test.jsonl", folder=tmp_path) for argument in arguments]
    assert sentence in command("evaluate", trained, *filled, "--json").refusal


@pytest.mark.parametrize("model", ["nope", "nobody/nothing", "{folder}"])
def test_a_model_that_is_none_is_refused(command: Command, easy_files: Path, tmp_path: Path, model: str) -> None:
    refusal = command("evaluate", model.format(folder=tmp_path), easy_files / "test.jsonl").refusal
    assert "does not exist" in refusal or "is missing" in refusal


@pytest.mark.parametrize("name", ["config.json", "schema.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("damage", ["missing", "cut off"])
def test_a_damaged_model_is_refused(
    command: Command, trained: Path, easy_files: Path, tmp_path: Path, name: str, damage: str
) -> None:
    model = Path(shutil.copytree(trained, tmp_path / "model"))
    content = (model / name).read_bytes()
    (model / name).unlink() if damage == "missing" else (model / name).write_bytes(content[: len(content) // 2])
    refusal = command("evaluate", model, easy_files / "test.jsonl", "--json").refusal
    assert str(model) in refusal
    assert command("predict", model, easy_files / "test.jsonl").refusal == refusal


def test_boundaries_are_scored_alone_whatever_the_label(
    command: Command, trained: Path, easy_files: Path, tmp_path: Path
) -> None:
    """People and places change their names, so that no label is right any more."""
    data = tmp_path / "swapped.jsonl"
    content = (easy_files / "test.jsonl").read_text()
    for old, new in (("Person", "?"), ("Place", "Person"), ("?", "Place")):
        content = content.replace(f'"label": "{old}"', f'"label": "{new}"')
    data.write_text(content)
    found = json.loads(command("evaluate", trained, data, "--json").out)
    boundaries = found["boundaries"]
    assert found["entities"]["micro"]["correct"] == 0
    assert boundaries["f1"] >= 0.8
    assert boundaries["gold"] == found["entities"]["micro"]["gold"]
    (row,) = (line for line in command("evaluate", trained, data).out.splitlines() if "boundaries alone" in line)
    numbers = [cell.strip() for cell in row.strip(" │|").replace("│", "|").split("|")][1:]
    shares = [f"{100 * boundaries[name]:.2f}" for name in ("precision", "recall", "f1")]
    assert numbers == [*shares, str(boundaries["gold"]), str(boundaries["predicted"])]


def test_entities_are_also_shown_by_width_and_by_nesting(command: Command, trained: Path, easy_files: Path) -> None:
    found = json.loads(command("evaluate", trained, easy_files / "test.jsonl", "--json").out)
    done = command("evaluate", trained, easy_files / "test.jsonl", "--by", "width", "--by", "nesting")
    rows = [line.replace("│", " ").split() for line in done.out.splitlines()]
    for groups in (found["widths"], found["nesting"]):
        for group, score in groups.items():
            assert [group, *(f"{100 * score[name]:.2f}" for name in ("precision", "recall", "f1"))] in [
                row[:4] for row in rows
            ]
    assert set(found["nesting"]) == {"flat"}
