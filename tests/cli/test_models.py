"""`spanwise models`: what there is and what each can do."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from spanwise.models.registry import find, names

Command = Callable[..., Any]


def test_json_is_one_object_with_every_model(command: Command) -> None:
    done = command("models", "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert set(found) == {"models"}
    assert list(found["models"]) == names()
    assert found["models"]["span-ner"]["can"]["nested"] is True
    assert found["models"]["seq-ner"]["can"]["nested"] is False
    assert found["models"]["seq-ner"]["options"]["tagging"] == "softmax"
    joint = {name for name, model in found["models"].items() if model["can"]["relations"]}
    assert joint >= {"span", "spert", "stsn"}
    assert not joint & {"seq-ner", "span-ner"}
    for name, model in found["models"].items():
        assert set(model) == {"summary", "can", "options"}
        assert set(model["options"]) == set(find(name).Config.model_fields)


def test_the_table_names_every_model_and_its_options(command: Command) -> None:
    done = command("models")
    assert done.code == 0
    assert all(name in done.out for name in names())
    assert "tagging" in done.out
