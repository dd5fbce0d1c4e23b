"""What is imported when: reading, converting and help need no torch, and the package itself nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import pytest

HEAVY = ("torch", "transformers", "accelerate")
RUN = """
import sys
from spanwise.cli import main
sys.argv[0] = "spanwise"
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
"""


def python(code: str, *arguments: object) -> str:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().rpartition("\n")[2]


def imported(code: str, *arguments: object) -> set[str]:
    """The top-level packages that a process has imported at its end."""
    report = "\nimport json; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    return set(json.loads(python(f"import sys\n{code}{report}", *arguments)))


@pytest.fixture
def tiny_file(tmp_path: Path) -> Path:
    path = tmp_path / "train.jsonl"
    document = {"text": "Ada left Dale .", "entities": [{"start": 0, "end": 3, "label": "Person"}]}
    path.write_text((json.dumps(document) + "\n") * 5)
    return path


def test_the_package_imports_nothing_heavy() -> None:
    assert not imported("import spanwise") & {*HEAVY, "numpy", "pydantic", "yaml", "rich", "typer"}


def test_exported_models_are_run_without_torch() -> None:
    code = "import spanwise.pipeline.pipeline, spanwise.pipeline.onnx_runner, spanwise.inference.extractor"
    assert not imported(code) & set(HEAVY)


def test_recipes_and_corpora_are_read_without_torch() -> None:
    assert not imported("from spanwise import Corpus, Recipe, load_corpus") & set(HEAVY)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--help"], ["corpora", "--json"]])
def test_verbs_without_a_model_import_no_torch(arguments: list[str]) -> None:
    assert not imported(RUN, *arguments) & set(HEAVY)


def test_verbs_that_read_files_import_no_torch(tiny_file: Path, tmp_path: Path) -> None:
    assert not imported(RUN, "init", tiny_file, "--out", tmp_path / "recipe.yaml") & set(HEAVY)
    assert not imported(RUN, "inspect", tiny_file) & set(HEAVY)
    assert not imported(RUN, "convert", tiny_file, tmp_path / "out.conll") & set(HEAVY)


@pytest.mark.slow
def test_help_is_there_at_once() -> None:
    def seconds() -> float:
        start = perf_counter()
        subprocess.run([sys.executable, "-m", "spanwise", "--help"], capture_output=True, check=True)
        return perf_counter() - start

    assert min(seconds() for _ in range(5)) < 0.7


@pytest.mark.slow
def test_every_export_is_what_its_module_defines() -> None:
    code = """
import spanwise
from spanwise import Corpus, Extractor, Recipe, evaluate, load_corpus, train
import spanwise.corpora, spanwise.evaluation, spanwise.inference.extractor, spanwise.recipe, spanwise.training.run

assert train is spanwise.train is spanwise.training.run.train
assert evaluate is spanwise.evaluate is spanwise.evaluation.evaluate
assert load_corpus is spanwise.corpora.load
assert (Corpus, Recipe) == (spanwise.corpora.Corpus, spanwise.recipe.Recipe)
assert Extractor is spanwise.inference.extractor.Extractor
assert all(getattr(spanwise, name).__doc__ for name in spanwise.__all__)
"""
    python(code)


def test_exports_are_listed_before_they_are_imported() -> None:
    assert python("import spanwise; print(set(spanwise.__all__) <= set(dir(spanwise)))") == "True"


def test_an_unknown_export_is_refused() -> None:
    import spanwise

    with pytest.raises(AttributeError, match="module 'spanwise' has no attribute 'nope'"):
        spanwise.nope  # noqa: B018
