"""Run the blocks of a page in its own folder, one after the other, as a reader does."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from markdown_blocks import Block

from spanwise import formats
from spanwise.document import Document, Entity
from spanwise.text.alignment import ensure_words

LIMIT = 1800  # seconds of one block
DEMO = "SPANWISE_DEMO"  # the folder that `spanwise demo` wrote


class GivenFiles:
    """The files that a page supposes: a small corpus in several formats, and a tiny model that was trained on it."""

    def __init__(self, easy_files: Path, recipe: Path, trained: Callable[[], Path]) -> None:
        self.easy_files, self.recipe, self.trained = easy_files, recipe, trained

    def place(self, name: str, folder: Path) -> None:
        """Put this file into the folder, unless a block before has made it."""
        target = folder / name
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        stem = target.name.partition(".")[0]
        if name in ("runs/mine", "runs/first"):
            shutil.copytree(self.trained(), target)
        elif name == "demo/model":
            if DEMO not in os.environ:
                pytest.skip(f"{DEMO} names no folder that `spanwise demo` wrote")
            shutil.copytree(Path(os.environ[DEMO]) / "model", target)
        elif name == "recipe.yaml":
            target.write_text(self.recipe.read_text(encoding="utf-8"), encoding="utf-8")
        elif name == "team.json":
            target.write_text(json.dumps(self._team()), encoding="utf-8")
        elif name in ("ann.jsonl", "bo.jsonl", "cy.jsonl"):
            formats.write(_marked_by(stem, self._documents("dev")), target)
        elif name in ("notes.txt", "texts.txt"):
            target.write_text("Mara met Bo in Kell .\nAda Moss left Brenford .\n", encoding="utf-8")
        elif target.name.endswith(".gz"):
            target.write_bytes(gzip.compress((self.easy_files / "train.jsonl").read_bytes()))
        elif target.suffix == ".jsonl":
            same = {"train": "train", "all": "train", "dev": "dev"}
            target.write_bytes((self.easy_files / f"{same.get(stem, 'test')}.jsonl").read_bytes())
        else:
            formats.write(map(ensure_words, self._documents("train")), target, _FORMATS[name])

    def _documents(self, split: str) -> list[Document]:
        return list(formats.read(self.easy_files / f"{split}.jsonl"))

    def _team(self) -> list[dict[str, Any]]:
        """Tasks of Label Studio with the annotations of three people, of whom one misses the last entity."""
        return [
            {
                "id": number,
                "data": {"text": document.text},
                "annotations": [
                    {"completed_by": {"email": f"{name}@example.org"}, "result": _regions(document.entities[:count])}
                    for name, count in (("ann", None), ("bo", None), ("cy", -1))
                ],
            }
            for number, document in enumerate(self._documents("dev"))
        ]


_FORMATS = {"export.json": "label-studio", "train.json": "spert", "annotations": "brat"}


def _regions(entities: Iterable[Entity]) -> list[dict[str, Any]]:
    return [
        {
            "id": f"e{number}",
            "from_name": "label",
            "to_name": "text",
            "type": "labels",
            "value": {"start": entity.start, "end": entity.end, "labels": [entity.label]},
        }
        for number, entity in enumerate(entities)
    ]


def _marked_by(name: str, documents: list[Document]) -> list[Document]:
    """The documents as one of three people marks them: cy leaves the first entity of each out."""
    skipped = int(name == "cy")
    return [document.with_annotations(document.entities[skipped:], ()) for document in documents]


def run_page(blocks: Iterable[Block], folder: Path, given: GivenFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the blocks in this folder: python in one namespace, bash with spanwise on PATH."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{_programs(folder)}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "100")
    namespace: dict[str, Any] = {"__name__": "page"}
    for block in blocks:
        for name in block.given:
            given.place(name, folder)
        if not block.is_python:
            _run(["bash", "-euo", "pipefail", "-c", block.source], block)
        elif "__main__" in block.source:  # a script, whose processes import it again
            script = folder / "script.py"
            script.write_text(block.source, encoding="utf-8")
            _run([sys.executable, str(script)], block)
        else:
            exec(compile(block.source, block.place, "exec"), namespace)  # noqa: S102


def _programs(folder: Path) -> Path:
    """A folder with the commands `spanwise` and `python` of this environment."""
    programs = folder / ".programs"
    programs.mkdir()
    for name, call in (("spanwise", f'"{sys.executable}" -m spanwise'), ("python", f'"{sys.executable}"')):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {call} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    return programs


def _run(command: list[str], block: Block) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{block.place}:\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
