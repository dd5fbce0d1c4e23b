"""`spanwise tune`: a table or JSON, the folder that is written, and what the other verbs then use."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from spanwise.inference.extractor import Extractor
from spanwise.pipeline import folder as model_folder
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.pipeline.tuning import Tuning

Command = Callable[..., Any]


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "model"))


@pytest.fixture
def wide(easy_files: Path, tmp_path: Path) -> Path:
    """Dev data whose entities are whole texts, with what the model knows as their head regions."""
    lines = [json.loads(line) for line in (easy_files / "dev.jsonl").read_text().splitlines()]
    for document in lines:
        document["entities"] = [
            {"start": 0, "end": len(document["text"]), "label": e["label"], "head": [e["start"], e["end"]]}
            for e in document["entities"][:1]
        ]
    path = tmp_path / "wide.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def hard(easy_files: Path, tmp_path: Path) -> Path:
    """Dev data on which the model is often wrong: every second document has lost its entities."""
    lines = [json.loads(line) for line in (easy_files / "dev.jsonl").read_text().splitlines()]
    for index, document in enumerate(lines):
        if index % 2:
            document["entities"] = []
    path = tmp_path / "hard.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines * 3))
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_the_stored_values_are_used_by_evaluate_and_predict(
    command: Command, model: Path, hard: Path, easy_files: Path, tmp_path: Path
) -> None:
    test = easy_files / "test.jsonl"
    before = json.loads(command("evaluate", model, test, "--json").out)
    done = command("tune", model, hard, "--test", test, "--json")
    assert done.code == 0, done
    found = json.loads(done.out)
    assert found["stored"] is True
    assert found["member"] == "seq-ner"
    assert [row["data"] for row in found["effects"]] == ["hard.jsonl", "test.jsonl"]
    tuning = Tuning.model_validate(found["tuning"])
    assert tuning.temperature > 1  # the model is too sure on this data
    on_test = found["effects"][1]
    after = json.loads(command("evaluate", model, test, "--json").out)
    assert (on_test["before"]["entities"], on_test["after"]["entities"]) == (before["entities"], after["entities"])
    assert command("predict", model, test, tmp_path / "out.jsonl").code == 0
    predicted = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    extractor = Extractor.from_pretrained(model)
    assert extractor.pipeline.reader.tuning == tuning
    wanted = [[entity.score for entity in extractor(document["text"]).entities] for document in predicted]
    assert [[entity["score"] for entity in document["entities"]] for document in predicted] == [
        pytest.approx(scores, abs=1e-5) for scores in wanted
    ]


def test_only_the_config_and_the_card_change_and_reset_restores_them(command: Command, model: Path, hard: Path) -> None:
    before = files(model)
    assert command("tune", model, hard).code == 0
    tuned = files(model)
    assert {name for name in tuned if tuned[name] != before[name]} == {"config.json", "README.md"}
    card = tuned["README.md"].decode()
    assert re.search(r"\nTuned with `spanwise tune` for seq-ner on hard.jsonl: F1 of entities [\d.]+ → [\d.]+", card)
    assert command("tune", model, hard, "--no-temperature").code == 0
    assert files(model)["README.md"].decode().count("Tuned with") == 1
    done = command("tune", model, "--reset")
    assert (done.code, done.out) == (0, "")
    restored = files(model)
    assert restored["config.json"] == before["config.json"]
    assert b"Tuned with" not in restored["README.md"]
    assert restored["README.md"].split() == before["README.md"].split()


def test_a_dry_run_writes_nothing(command: Command, model: Path, hard: Path) -> None:
    before = files(model)
    done = command("tune", model, hard, "--dry-run")
    assert done.code == 0
    assert "nothing was stored (--dry-run)" in done.err
    assert files(model) == before


def test_the_table_shows_thresholds_and_scores_before_and_after(
    command: Command, model: Path, hard: Path, easy_files: Path
) -> None:
    done = command("tune", model, hard, "--test", easy_files / "test.jsonl", "--dry-run")
    assert done.code == 0
    shown = " ".join(done.out.split())
    assert "hard.jsonl (chosen on this data), before → after" in shown
    assert "test.jsonl (another file), before → after" in shown
    assert re.search(r"│ Person │ \d+ │ 0 → [\d.]+ │ [\d.]+ → [\d.]+ │ [\d.]+ → [\d.]+ │ [\d.]+ → [\d.]+ │", shown)
    assert len(re.findall(r"expected calibration error of entities: 0\.\d+; with temperature 0\.\d+", shown)) == 2
    assert re.search(r"temperature of entities [\d.]+", shown)


def test_files_with_equal_names_are_both_shown_by_their_paths(
    command: Command, model: Path, hard: Path, easy_files: Path, tmp_path: Path
) -> None:
    dev, test = (tmp_path / name / "data.jsonl" for name in ("dev", "test"))
    for path, source in ((dev, hard), (test, easy_files / "test.jsonl")):
        path.parent.mkdir()
        shutil.copy(source, path)
    found = json.loads(command("tune", model, dev, "--test", test, "--dry-run", "--json").out)
    assert [(row["data"], row["role"]) for row in found["effects"]] == [
        (str(dev), "chosen on this data"),
        (str(test), "another file"),
    ]
    assert found["effects"][0]["before"] != found["effects"][1]["before"]
    shown = command("tune", model, dev, "--test", test).out
    assert f"{dev} (chosen on this data)" in shown
    assert f"{test} (another file)" in shown
    assert str(tmp_path) not in (model / "README.md").read_text()


def test_without_a_file_dev_of_the_recipe_is_used(command: Command, model: Path) -> None:
    done = command("tune", model, "--test-split", "test", "--dry-run", "--json")
    assert done.code == 0, done
    found = json.loads(done.out)
    assert [row["data"] for row in found["effects"]] == ["dev", "test"]
    assert found["stored"] is False


@pytest.mark.parametrize("by", ["option", "recipe", None])
def test_head_regions_are_compared_if_asked_for_or_if_the_model_was_trained_on_them(
    command: Command, model: Path, wide: Path, by: str | None
) -> None:
    if by == "recipe":
        recipe = yaml.safe_load((model / "recipe.yaml").read_text())
        recipe["data"]["heads"] = True
        (model / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    done = command("tune", model, wide, "--test", wide, "--json", *(["--heads"] if by == "option" else []))
    assert done.code == 0, done
    scores = [row["before"]["entities"]["micro"]["recall"] for row in json.loads(done.out)["effects"]]
    assert scores == ([pytest.approx(1, abs=0.15)] * 2 if by else [0, 0])


def test_a_required_precision_is_reached_or_refused(
    command: Command, model: Path, hard: Path, easy_files: Path
) -> None:
    found = json.loads(command("tune", model, easy_files / "dev.jsonl", "--precision", 0.95, "--json").out)
    assert found["effects"][0]["after"]["entities"]["micro"]["precision"] >= 0.95
    before = files(model)
    refused = command("tune", model, hard, "--precision", 0.99).refusal
    assert re.search(r"no thresholds reach precision 0.99 on this data \(highest: 0\.\d+\)", refused)
    assert refused.endswith("Nothing was tuned; require less, or give more labeled data.")
    assert files(model) == before


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["dev.jsonl", "--precision", 0.9, "--recall", 0.9], "--best, --precision and --recall exclude each other"),
        (["dev.jsonl", "--best", "f1", "--recall", 0.9], "--best, --precision and --recall exclude each other"),
        (["dev.jsonl", "--corpus", "demo"], "give data either as a file or as a split"),
        (["dev.jsonl", "--test", "x.jsonl", "--test-split", "test"], "give data either as a file or as a split"),
        (["dev.jsonl", "--reset"], "--reset removes what was stored and takes only --reader; leave out the file."),
        (["dev.jsonl", "--precision", 0], "a required precision is a number above 0"),
        (["missing.jsonl"], "missing.jsonl"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(
    command: Command, trained: Path, easy_files: Path, arguments: list[object], reason: str
) -> None:
    first, *others = arguments
    assert reason in command("tune", trained, easy_files / str(first), *others).refusal


@pytest.mark.parametrize(
    "option",
    [
        ["--precision", 0.9],
        ["--best", "f1"],
        ["--no-temperature"],
        ["--split", "test"],
        ["--format", "jsonl"],
        ["--device", "cpu"],
        ["--threads", 1],
        ["--json"],
    ],
)
def test_other_options_are_refused_with_reset(command: Command, trained: Path, option: list[object]) -> None:
    wanted = f"--reset removes what was stored and takes only --reader; leave out {option[0]}."
    assert command("tune", trained, "--reset", *option).refusal == wanted


def test_a_format_without_a_file_is_refused(command: Command, trained: Path) -> None:
    wanted = "--format is for files; give a labeled file, or leave it out."
    assert command("tune", trained, "--corpus", "demo", "--format", "jsonl").refusal == wanted


def test_a_model_of_the_hub_is_not_written_to(command: Command) -> None:
    assert "'somebody/model' is no local one" in command("tune", "somebody/model", "dev.jsonl").refusal


def test_a_model_without_a_recipe_says_how_to_give_a_file(command: Command, model: Path) -> None:
    (model / "recipe.yaml").unlink()
    assert f"`spanwise tune {model} FILE`" in command("tune", model).refusal


def test_a_model_with_open_labels_is_tuned_for_new_ones_in_a_new_folder(
    command: Command, make_pipeline: Callable[..., TorchPipeline], easy_files: Path, tmp_path: Path
) -> None:
    pipeline = make_pipeline("span-ner", scorer="descriptions")
    with torch.no_grad():
        pipeline.model.label_scorer.bias.zero_()  # type: ignore[union-attr,operator]
    source, target = tmp_path / "open", tmp_path / "tuned"
    model_folder.save(pipeline, source)
    before, dev = files(source), easy_files / "dev.jsonl"
    labels = sorted({e["label"] for line in dev.read_text().splitlines() for e in json.loads(line)["entities"]})
    done = command("tune", source, dev, "--labels", ", ".join(labels), "--out", target, "--json")
    assert done.code == 0, done.err
    assert files(source) == before
    tuned = Extractor.from_pretrained(target)
    assert set(tuned.schema.entity_names) == set(labels)
    stored = {name: value for name, value in tuned.pipeline.own_thresholds(tuned.schema).items() if value != 0.5}
    assert stored
    again = command("tune", source, dev, "--labels", labels[0], "--out", target)
    assert again.refusal == f"{target} exists; give another --out."
    assert "--out" in command("tune", source, dev, "--labels", labels[0]).refusal
