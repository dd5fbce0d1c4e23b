"""`spanwise models`: the installed models and what each can do."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from spanwise.seam.registry import find_model, model_names
from spanwise.seam.traits import Traits

Command = Callable[..., Any]


def test_json_is_one_object_with_every_model(command: Command) -> None:
    done = command("models", "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert set(found) == {"models"}
    assert list(found["models"]) == model_names()
    assert found["models"]["seq-ner"]["options"]["tagging"] == "softmax"
    joint = {name for name, model in found["models"].items() if model["traits"]["relations"]}
    assert joint >= {"span", "spert", "stsn"}
    assert not joint & {"seq-ner", "span-ner"}
    for name, model in found["models"].items():
        assert set(model) == {"summary", "traits", "options"}
        assert set(model["traits"]) == set(asdict(Traits()))
        assert set(model["options"]) == set(find_model(name).Config.model_fields)


def test_the_table_names_every_model(command: Command) -> None:
    done = command("models")
    assert done.code == 0
    assert all(name in done.out for name in model_names())


@pytest.mark.parametrize("name", model_names())
def test_a_model_is_listed_with_its_options_defaults_and_descriptions(
    command: Command, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("spanwise.cli.models.out.width", 400)
    done = command("models", name)
    assert done.code == 0
    for option, field in find_model(name).Config.model_fields.items():
        (row,) = [line for line in done.out.splitlines() if f" model.{option} " in line]
        assert str(field.default) in row
        assert (field.description or "").replace("`", "") in row


def test_an_unknown_model_is_refused(command: Command) -> None:
    assert command("models", "nope").refusal.startswith("unknown model 'nope'; choose from ")


def test_the_table_says_what_an_option_switches_on(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.cli.models.out.width", 400)
    rows, name = defaultdict(list), ""
    for line in command("models").out.splitlines():
        if line.startswith("│"):
            first, _, ability, *_ = (cell.strip() for cell in line.strip("│").split("│"))
            name = first or name
            rows[name].append(ability)
    assert rows["spert"][:2] == ["nested entities (with nested)", "relations"]
    assert {"nested entities (with nested)", "several labels per span (with multi_label)"} <= set(rows["span-ner"])
    assert rows["seq-ner"] == [""]
    assert "new labels (with shared)" in rows["lear"]
