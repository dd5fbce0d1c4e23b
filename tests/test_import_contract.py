"""The contract on imports holds, and breaking it is noticed: models are reached through entry points alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLANTED = "from spanwise.models.lear import LEAR"
ENTRY_POINTS = "Models are reached through entry points alone"
LAYERS = "The packages of DESIGN: each imports only those below it"
NO_TORCH = "Reading, counting, scoring and decoding need no torch"
LINTER = Path(sys.executable).with_name("lint-imports")

pytestmark = pytest.mark.skipif(not LINTER.exists(), reason="import-linter is not installed")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The source and its contracts, to be broken."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src" / "spanwise", tmp_path / "src" / "spanwise", ignore=shutil.ignore_patterns("*.pyc"))
    return tmp_path


def plant(path: Path, line: str, before: str = "") -> None:
    """Add an import to a module: at its end, or before the first line that begins like this, as deep as that one."""
    text = path.read_text(encoding="utf-8")
    assert before in text
    place = text.index(before) if before else len(text)
    indent = place - text.rfind("\n", 0, place) - 1
    path.write_text(f"{text[:place]}{line}\n{' ' * indent}{text[place:]}", encoding="utf-8")


def verdicts(folder: Path) -> tuple[int, dict[str, str]]:
    """The linter's exit code and, for every contract, whether it is KEPT or BROKEN."""
    done = subprocess.run(
        [str(LINTER), "--no-cache", "--no-logo"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Analyzed" in done.stdout, done.stdout + done.stderr
    rows = (line.partition(" (")[0].rpartition(" ") for line in done.stdout.splitlines())
    return done.returncode, {name: verdict for name, _, verdict in rows if verdict in ("KEPT", "BROKEN")}


def broken(folder: Path) -> set[str]:
    code, found = verdicts(folder)
    names = {name for name, verdict in found.items() if verdict == "BROKEN"}
    assert code == (1 if names else 0)
    return names


def test_every_contract_is_kept(copy: Path) -> None:
    code, found = verdicts(copy)
    assert code == 0
    assert {ENTRY_POINTS, LAYERS, NO_TORCH} <= set(found)
    assert set(found.values()) == {"KEPT"}


@pytest.mark.parametrize(
    "module",
    ["training/run.py", "cli/train.py", "benchmark/runs.py", "inference/extractor.py", "pipeline/torch_pipeline.py"],
)
def test_a_model_that_is_imported_by_name_is_noticed(copy: Path, module: str) -> None:
    plant(copy / "src" / "spanwise" / module, PLANTED)
    assert ENTRY_POINTS in broken(copy)


def test_a_model_that_is_imported_inside_a_function_is_noticed(copy: Path) -> None:
    plant(copy / "src" / "spanwise" / "training" / "run.py", PLANTED, before="prepared = prepare(")
    assert ENTRY_POINTS in broken(copy)


def test_a_model_that_is_imported_by_a_new_package_is_noticed(copy: Path) -> None:
    package = copy / "src" / "spanwise" / "brand_new"
    package.mkdir()
    (package / "__init__.py").write_text(f"{PLANTED}\n")
    assert broken(copy) >= {ENTRY_POINTS, LAYERS}  # it is in no layer either


def test_a_new_package_that_is_in_no_layer_is_noticed(copy: Path) -> None:
    (copy / "src" / "spanwise" / "brand_new").mkdir()
    (copy / "src" / "spanwise" / "brand_new" / "__init__.py").write_text("")
    assert broken(copy) == {LAYERS}


def test_an_import_from_a_higher_layer_is_noticed(copy: Path) -> None:
    plant(copy / "src" / "spanwise" / "corpora" / "selection.py", "from spanwise.recipe import Recipe")
    assert LAYERS in broken(copy)


@pytest.mark.parametrize("module", ["text/words.py", "decoding/spans.py", "metrics/strict.py"])
def test_torch_in_a_package_that_needs_none_is_noticed(copy: Path, module: str) -> None:
    plant(copy / "src" / "spanwise" / module, "import torch")
    assert broken(copy) == {NO_TORCH}
