"""The service in a process of its own, under load: shorter runs of benchmarks/service.py."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("fastapi")
from spanwise import Extractor

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
LEGACY = ROOT / "tests" / "legacy" / "bundle"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """The benchmark as a module."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import service
    finally:
        sys.path.pop(0)
    return service


@pytest.fixture(scope="module")
def cases(bench: ModuleType) -> list[Any]:
    made: list[Any] = bench.make_cases(Extractor.from_pretrained(LEGACY), seed=3, size=40, malformed=0.2)
    return made


def test_answers_equal_the_library_beside_idle_slow_and_deaf_clients_and_term_loses_none(
    bench: ModuleType, cases: list[Any]
) -> None:
    with bench.running(str(LEGACY)) as service:
        alone = asyncio.run(bench.load(service.port, cases, 3, 8, seed=4))
        crowded = asyncio.run(bench.beside(service.port, cases, 2, 8, seed=5, idle=300))
        stopped = asyncio.run(bench.terminated(service, cases, 3, 8, seed=6))
    for tally in (alone, crowded, stopped):
        assert (tally.lost, tally.wrong) == (0, 0)
        assert tally.statuses[200] > 5
    refused = alone.statuses + crowded.statuses + stopped.statuses
    assert refused[400] + refused[422] > 0


def test_a_port_in_use_ends_with_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "spanwise", "serve", str(LEGACY), "--port", port]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert "choose others with --host and --port" in run.stderr
    assert "Traceback" not in run.stderr
