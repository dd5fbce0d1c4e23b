"""`spanwise demo`: train, score, read an unseen text, write the page; here with a tiny encoder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise.recipe import Recipe


@pytest.mark.slow
def test_the_demo_scores_and_shows_an_unseen_text(
    command: Callable[..., Any], tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = Recipe.load
    tiny = (f"encoder.name={tiny_encoder}", "train.epochs=2", "train.encoder_lr=0.001")
    monkeypatch.setattr("spanwise.demo.showcase.Recipe.load", lambda path: load(path, tiny))
    done = command("demo", "--out", tmp_path / "demo")
    assert done.code == 0, done.err
    assert "micro" in done.out
    assert "University of Lindqvale" in done.out
    page = (tmp_path / "demo" / "demo.html").read_text(encoding="utf-8")
    assert "Lindqvale" in page
    again = command("demo", "--out", tmp_path / "demo", "--json")  # takes up what is trained
    assert "already holds a trained model" in again.err
    wanted = {"boundaries", "entities", "nesting", "relations", "widths", "page", "model"}
    assert set(json.loads(again.out)) == wanted
