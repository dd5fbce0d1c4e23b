"""The demo corpus that ships with the package: invented English news with nested entities, relations and events."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def demo_folder() -> Path:
    """The folder that holds train.jsonl, dev.jsonl, test.jsonl, schema.json and unseen.txt."""
    return Path(str(files("spanwise") / "data" / "demo"))


def unseen_text() -> str:
    """A text of the corpus's kind with names that no split holds: what to try a trained model on."""
    return (demo_folder() / "unseen.txt").read_text(encoding="utf-8")
