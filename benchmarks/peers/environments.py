"""One virtual environment per peer, with pinned requirements."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
INSTALLED = "installed.txt"  # the requirements that an environment was made with, in its folder


def interpreter(work: Path, name: str) -> Path:
    """The Python of the environment `name`, which is made where it is missing or its requirements have changed."""
    folder = work / "environments" / name
    requirements = (HERE / "requirements" / f"{name}.txt").read_text("utf-8")
    python = folder / "bin" / "python"
    stamp = folder / INSTALLED
    if stamp.exists() and stamp.read_text("utf-8") == requirements:
        return python
    print(f"installing {name}", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)  # noqa: S603
    install = [str(python), "-m", "pip", "install", "--quiet", "-r", str(HERE / "requirements" / f"{name}.txt")]
    subprocess.run(install, check=True)  # noqa: S603
    stamp.write_text(requirements, encoding="utf-8")
    return python
