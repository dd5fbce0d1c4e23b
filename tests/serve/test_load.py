"""The service in a process of its own, under load: shorter runs of benchmarks/service.py, and raw connections."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("fastapi")
import httpx

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
    made: list[Any] = bench.make_cases(Extractor.from_pretrained(LEGACY), seed=3)
    return made


@pytest.fixture(scope="module")
def service(bench: ModuleType) -> Iterator[Any]:
    with bench.running(str(LEGACY), "--receive-timeout", "2", "--send-timeout", "2") as service:
        yield service


def test_answers_equal_the_library_beside_idle_slow_and_deaf_clients_and_term_loses_none(
    bench: ModuleType, cases: list[Any]
) -> None:
    with bench.running(str(LEGACY)) as service:
        alone = asyncio.run(bench.load(service.port, cases, 2, 8, seed=4))
        crowded = asyncio.run(bench.beside(service.port, cases, 2, 8, seed=5, idle=300))
        stopped = asyncio.run(bench.terminated(service, cases, 3, 8, seed=6))
    for tally in (alone, crowded, stopped):
        assert (tally.lost, tally.wrong) == (0, 0)
        assert tally.statuses[200] > 5
    assert alone.statuses[400] + alone.statuses[422] > 0


def read_all(connection: socket.socket) -> bytes:
    connection.settimeout(20)
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def keep_sending(connection: socket.socket, data: bytes) -> None:
    for _ in range(200):
        connection.sendall(data)
        time.sleep(0.02)


def test_slow_requests_are_ended(service: Any) -> None:
    def connected(sent: bytes) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", service.port))
        connection.sendall(sent)
        return connection

    half_body = connected(b"POST /v1/extract HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{")
    half_head = connected(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
    silent = connected(b"")
    began = time.monotonic()
    assert b" 408 " in read_all(half_body).partition(b"\r\n")[0]
    assert read_all(half_head) == b""
    assert read_all(silent) == b""
    assert time.monotonic() - began < 15
    assert httpx.get(f"http://127.0.0.1:{service.port}/healthz").status_code == 200


def test_a_client_that_never_reads_is_dropped(service: Any) -> None:
    body = json.dumps({"texts": ["word " * 1500] * 60}).encode()
    head = (
        f"POST /v1/extract HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    )
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", service.port))
        deaf.sendall(head + body)
        end = time.monotonic() + 30
        while not any(event.get("texts") == 60 for event in service.events()):
            assert time.monotonic() < end
            time.sleep(0.1)
        time.sleep(3)
        with pytest.raises(ConnectionError):
            keep_sending(deaf, b"x")
    assert httpx.get(f"http://127.0.0.1:{service.port}/healthz").status_code == 200


def test_headers_and_bodies_without_end_are_refused(service: Any) -> None:
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises(ConnectionError):
            keep_sending(connection, b"X-Long: " + b"x" * 1000 + b"\r\n")
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(
            b"POST /v1/extract HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        for _ in range(40):
            connection.sendall(chunk)
        connection.settimeout(20)
        assert b" 413 " in connection.recv(65536).partition(b"\r\n")[0]


def wait_for(service: Any, event: str, count: int) -> None:
    end = time.monotonic() + 60
    while sum(row["event"] == event for row in service.events()) < count:
        assert time.monotonic() < end, event
        time.sleep(0.1)


def test_workers_share_the_port_and_the_metrics_and_stop_together(bench: ModuleType) -> None:
    with bench.running(str(LEGACY), "--workers", "2") as service:
        wait_for(service, "started", 2)
        address = f"http://127.0.0.1:{service.port}"
        for _ in range(6):
            assert httpx.post(f"{address}/v1/extract", json={"text": "Mara left ."}).status_code == 200
        counted = [line for line in httpx.get(f"{address}/metrics").text.splitlines() if "texts_total" in line]
        assert counted[-1].endswith(" 6.0")  # of both workers
        assert service.terminate() == 0
        wait_for(service, "stopped", 2)


def test_workers_are_replaced_and_end_with_their_supervisor(bench: ModuleType) -> None:
    with bench.running(str(LEGACY), "--workers", "2") as service:
        wait_for(service, "started", 2)
        first = next(row["worker"] for row in service.events() if row["event"] == "worker started")
        time.sleep(10)  # one that ends earlier is a failure
        os.kill(first, signal.SIGKILL)
        wait_for(service, "started", 3)
        service.process.kill()
        wait_for(service, "stopped", 2)


def test_a_model_that_does_not_load_and_a_port_in_use_end_with_a_sentence(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "spanwise", "serve", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        used = run(str(LEGACY), "--port", str(taken.getsockname()[1]))
    assert used.returncode == 2
    assert "choose others with --host and --port" in used.stderr
    missing = run(str(tmp_path / "none"), "--port", "0", "--workers", "2")
    assert missing.returncode == 2
    assert "does not exist" in missing.stderr
    assert "Traceback" not in used.stderr + missing.stderr
