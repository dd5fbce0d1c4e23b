"""The script of docs/python.md runs as it is printed there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.mark.slow
def test_the_script_of_the_docs_trains_scores_and_extracts(tmp_path: Path) -> None:
    script, *_ = re.findall(r"```python\n(.*?)```", (DOCS / "python.md").read_text(encoding="utf-8"), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    steps, f1, *entities = done.stdout.splitlines()
    assert steps.startswith("120 steps, best epoch ")
    assert float(f1.removeprefix("F1 on dev ")) > 90
    assert [line.rsplit(" ", 1)[0] for line in entities] == ["Lea Brandt Person", "Oslo Place"]
