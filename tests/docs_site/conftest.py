"""The scripts of the site, and the site itself where mkdocs is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_script(path: str) -> ModuleType:
    """A script of the repository as a module."""
    place = ROOT / path
    if place.stem in sys.modules:
        return sys.modules[place.stem]
    spec = spec_from_file_location(place.stem, place)
    assert spec is not None
    assert spec.loader is not None
    script = sys.modules[place.stem] = module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@pytest.fixture(scope="session")
def site_pages() -> ModuleType:
    return load_script("tools/site_pages.py")


@pytest.fixture(scope="session")
def site_reference() -> ModuleType:
    return load_script("tools/site_reference.py")


@pytest.fixture(scope="session")
def choosing() -> ModuleType:
    return load_script("benchmarks/choosing.py")


@pytest.fixture(scope="session")
def built_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built as `make docs` builds it."""
    if find_spec("mkdocs") is None or find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed; `make docs` installs it")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # a notice of the theme about its successor
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder
