"""`--reader`: which member of a bundle is evaluated, predicts and is tuned."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise import formats
from spanwise.evaluation import evaluate
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.stored import store_tuning
from spanwise.pipeline.tuning import Tuning
from spanwise.recipe import Recipe
from spanwise.training.run import train

Command = Callable[..., Any]
MEMBERS = ("span-ner", "seq-ner")
UNKNOWN = "the bundle has no member 'lear'; choose the reader from span-ner, seq-ner."


@pytest.fixture(scope="module")
def bundle(easy_recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a span model with a tagger, so short that they do not agree on everything."""
    folder = tmp_path_factory.mktemp("runs") / "bundle"
    overrides = ["model={name: span-ner}", "bundle={name: seq-ner}", "train.epochs=5"]
    train(Recipe.load(easy_recipe, overrides), folder)
    return folder


def test_the_member_that_is_named_is_evaluated(command: Command, bundle: Path, easy_files: Path) -> None:
    gold = list(formats.read(easy_files / "test.jsonl"))
    found = {}
    for name in MEMBERS:
        done = command("evaluate", bundle, "--reader", name, "--json")
        assert done.code == 0
        found[name] = json.loads(done.out)
        assert found[name] == evaluate(Extractor.from_pretrained(bundle, reader=name), gold).to_dict()
    assert found["span-ner"] != found["seq-ner"]
    assert json.loads(command("evaluate", bundle, "--json").out) == found["span-ner"]


def test_the_member_that_is_named_predicts(command: Command, bundle: Path, easy_files: Path, tmp_path: Path) -> None:
    source = easy_files / "test.jsonl"
    found = {}
    for name in MEMBERS:
        target = tmp_path / f"{name}.jsonl"
        assert command("predict", bundle, source, target, "--reader", name).code == 0
        found[name] = list(formats.read(target))
        assert found[name] == Extractor.from_pretrained(bundle, reader=name)(list(formats.read(source)))
    assert found["span-ner"] != found["seq-ner"]
    command("predict", bundle, source, tmp_path / "default.jsonl")
    assert list(formats.read(tmp_path / "default.jsonl")) == found["span-ner"]


@pytest.mark.parametrize("verb", ["evaluate", "predict"])
def test_an_unknown_member_is_refused_with_those_there_are(command: Command, bundle: Path, verb: str) -> None:
    source = [] if verb == "evaluate" else ["-"]
    assert command(verb, bundle, *source, "--reader", "lear", stdin=b'{"text": "Bo left ."}\n').refusal == UNKNOWN


def test_the_deprecated_flag_still_works_and_warns_in_one_line(command: Command, bundle: Path) -> None:
    done, today = (command("evaluate", bundle, flag, "seq-ner", "--json") for flag in ("--reads", "--reader"))
    assert (done.code, done.out) == (0, today.out)
    assert "warning: --reads is deprecated; use --reader instead.\n" in done.err


def test_reset_with_a_member_leaves_the_tuning_of_the_others(
    command: Command, bundle: Path, easy_files: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(bundle, tmp_path / "bundle"))
    for name in MEMBERS:
        assert command("tune", folder, easy_files / "dev.jsonl", "--reader", name).code == 0
        store_tuning(folder, name, Tuning(threshold=0.25))
    assert command("tune", folder, "--reset", "--reader", "lear").refusal == UNKNOWN
    assert command("tune", folder, "--reset", "--reader", "seq-ner").code == 0
    tunings = [Extractor.from_pretrained(folder, reader=name).pipeline.reader.tuning for name in MEMBERS]
    assert tunings == [Tuning(threshold=0.25), Tuning()]
    card = (folder / "README.md").read_text()
    assert "Tuned with `spanwise tune` for span-ner on" in card
    assert "for seq-ner on" not in card
    assert command("tune", folder, "--reset").code == 0
    assert Extractor.from_pretrained(folder).pipeline.reader.tuning == Tuning()
    assert "Tuned with" not in (folder / "README.md").read_text()
