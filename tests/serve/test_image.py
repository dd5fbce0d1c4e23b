"""What can be said of the image without Docker: no root, no PyTorch, and only the package goes into it."""

from __future__ import annotations

import re
from importlib.metadata import requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def required(extra: str) -> set[str]:
    """The names that `spanwise[extra]` requires, with the extras that it names itself."""
    names: set[str] = set()
    for line in requires("spanwise") or []:
        requirement, _, marker = line.partition(";")
        wanted = re.search(r"extra == ['\"]([\w-]+)['\"]", marker)
        if wanted and wanted[1] != extra:
            continue
        name, _, extras = re.split(r"[\s<>=!~]", requirement.strip())[0].partition("[")
        names |= set().union(*map(required, extras.rstrip("]").split(","))) if name == "spanwise" else {name.lower()}
    return names


@pytest.mark.parametrize("extra", ["serve", "client"])
def test_service_and_client_do_not_require_torch(extra: str) -> None:
    assert "torch" in required("train")
    assert not required(extra) & {"torch", "transformers", "accelerate"}


def test_the_image_runs_without_root_and_holds_only_the_package() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    user = next(line for line in lines if line.startswith("USER "))
    entry = next(line for line in lines if line.startswith("ENTRYPOINT "))
    assert user.split()[1] not in {"0", "root"}
    assert lines.index(user) < lines.index(entry)
    assert not any(re.search(r"torch|\[train\]|--privileged", line) for line in lines if not line.startswith("#"))
    assert (ROOT / ".dockerignore").read_text().splitlines()[1] == "*"
