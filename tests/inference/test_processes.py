"""How many threads an extractor uses, and extractors in several threads and processes as the docs print them."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from spanwise import runtime
from spanwise.errors import InputError
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(autouse=True)
def same_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def pipeline(make_pipeline: Callable[..., TorchPipeline]) -> TorchPipeline:
    return make_pipeline("seq-ner")


@pytest.fixture
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in which nobody has chosen a number of threads."""
    monkeypatch.delenv(runtime.THREADS_VARIABLE)
    monkeypatch.setattr(runtime, "_threads", None)
    torch.set_num_threads(2)


def test_an_extractor_uses_the_threads_it_is_given(pipeline: TorchPipeline, trained: Path) -> None:
    Extractor(pipeline, threads=3)
    assert torch.get_num_threads() == 3
    Extractor.from_pretrained(trained, threads=2)
    assert torch.get_num_threads() == 2
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.get_num_threads).result() == 2


@pytest.mark.usefixtures("nothing_set")
def test_an_extractor_uses_the_threads_of_the_environment(
    pipeline: TorchPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(runtime.THREADS_VARIABLE, "3")
    Extractor(pipeline)
    assert torch.get_num_threads() == 3


@pytest.mark.usefixtures("nothing_set")
def test_threads_that_were_set_before_are_kept(pipeline: TorchPipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    Extractor(pipeline)
    assert torch.get_num_threads() == 2
    runtime.set_threads(3)
    monkeypatch.setenv(runtime.THREADS_VARIABLE, "1")
    Extractor(pipeline)
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize("threads", [0, -1])
def test_a_number_of_threads_below_one_is_refused(pipeline: TorchPipeline, threads: int) -> None:
    with pytest.raises(InputError, match=f"threads= is a number of threads, at least 1, not {threads}"):
        Extractor(pipeline, threads=threads)


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_an_extractor_is_not_sent_to_another_process(pipeline: TorchPipeline, copied: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError, match=r"load it there with Extractor\.from_pretrained"):
        copied(Extractor(pipeline))


def run(script: str, folder: Path) -> list[str]:
    """What a script prints; a hang ends the test."""
    (folder / "script.py").write_text(script)
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def place(trained: Path, tmp_path: Path) -> Path:
    """A folder with a model in `runs/people`."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "people").symlink_to(trained)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["ThreadPoolExecutor", "ProcessPoolExecutor"])
def test_the_pools_of_the_docs_find_what_one_extractor_finds(trained: Path, place: Path, pool: str) -> None:
    scripts = re.findall(r"```python\n(.*?)```", (DOCS / "python.md").read_text(encoding="utf-8"), re.DOTALL)
    (script,) = (script for script in scripts if f"import {pool}" in script)
    extractor = Extractor.from_pretrained(trained)
    documents = extractor(["Lea Brandt moved to Oslo .", "Tom Weber has never seen Kell ."])
    assert any(document.entities for document in documents)
    assert run(script, place) == "\n".join(map(str, documents)).splitlines()


FORKED = """
from multiprocessing import get_context
from spanwise import Extractor

def use(text):
    return extractor(text)

def load(text):
    return Extractor.from_pretrained("runs/people", threads=2)(text)

def sentence(work):
    with get_context("fork").Pool(1) as pool:
        try:
            return pool.apply_async(work, ["Bo left Kell ."]).get(timeout=60)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
"""


@pytest.mark.slow
def test_a_fork_of_a_process_with_a_model_is_refused(place: Path) -> None:
    """Without the refusal both hang: torch waits for threads that the fork does not have."""
    parent = 'extractor = Extractor.from_pretrained("runs/people", threads=2)\nextractor(["Bo left Kell ."] * 500)\n'
    used, loaded = run(f"{FORKED}{parent}print(sentence(use))\nprint(sentence(load))\n", place)
    assert used == loaded
    assert used.startswith("InputError: this process was forked from one that has loaded a model")
    assert "start the workers with the method 'spawn', or load the model in the workers alone." in used


@pytest.mark.slow
def test_a_fork_that_loads_the_only_model_works(place: Path) -> None:
    text, *entities = run(f"{FORKED}print(sentence(load))\n", place)
    assert text == "Bo left Kell ."
    assert [line.split()[1] for line in entities] == ["[Person]", "[Place]"]
