"""Several processes on one socket: shared metrics, replacement, and an end together."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
import httpx

from spanwise.errors import SpanwiseError
from spanwise.serve.settings import Settings
from spanwise.serve.workers import supervise

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).with_name("worker_program.py")


class Supervisor:
    """The program of two workers, and its log."""

    def __init__(self, log: Path) -> None:
        self.log = log
        with log.open("wb") as stream:
            self.process = subprocess.Popen([sys.executable, str(PROGRAM)], stderr=stream)

    def wait_for(self, event: str, count: int) -> list[dict[str, Any]]:
        """The events of this name, once there are so many."""
        end = time.monotonic() + 60
        while True:
            lines = self.log.read_text().splitlines()
            found = [row for row in map(json.loads, filter(is_whole, lines)) if row["event"] == event]
            if len(found) >= count:
                return found
            assert time.monotonic() < end, lines
            time.sleep(0.05)


def is_whole(line: str) -> bool:
    return line.startswith("{") and line.endswith("}")


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    supervisor = Supervisor(tmp_path / "log")
    yield supervisor
    supervisor.process.kill()
    supervisor.process.wait(30)


def test_workers_share_the_port_and_the_metrics_and_stop_together(supervisor: Supervisor) -> None:
    port = supervisor.wait_for("started", 2)[0]["port"]
    address = f"http://127.0.0.1:{port}"
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            assert httpx.get(f"{address}/readyz").status_code == 200
            break
        except httpx.ConnectError:
            time.sleep(0.05)
    for _ in range(6):
        assert httpx.post(f"{address}/v1/extract", json={"text": "Mara"}).status_code == 200
    counted = [line for line in httpx.get(f"{address}/metrics").text.splitlines() if "texts_total" in line]
    assert counted[-1].endswith(" 6.0")  # of both workers
    supervisor.process.send_signal(signal.SIGTERM)
    assert supervisor.process.wait(30) == 0
    supervisor.wait_for("stopped", 2)


def test_workers_are_replaced_and_end_with_their_supervisor(supervisor: Supervisor) -> None:
    supervisor.wait_for("started", 2)
    os.kill(supervisor.wait_for("worker started", 2)[0]["worker"], signal.SIGKILL)
    supervisor.wait_for("started", 3)
    time.sleep(0.5)  # until the new one handles signals
    supervisor.process.kill()
    supervisor.wait_for("stopped", 2)


def test_a_worker_that_cannot_start_is_not_started_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound, pytest.raises(SpanwiseError, match="status 7"):
        supervise(Settings(workers=2), bound, [sys.executable, "-c", "raise SystemExit(7)"])
