"""Connections that are slow, endless or never read: each is ended, and others do not notice."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi")
import httpx
from fake import FakeExtractor, served

from spanwise.serve.settings import Settings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def service() -> Iterator[int]:
    """The port of a service with little patience."""
    with served(FakeExtractor(), Settings(receive_timeout=1, send_timeout=1)) as address:
        yield int(address.rpartition(":")[2])


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


def test_slow_requests_are_ended(service: int) -> None:
    def connected(sent: bytes) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", service))
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
    assert httpx.get(f"http://127.0.0.1:{service}/healthz").status_code == 200


def test_a_client_that_never_reads_is_dropped(service: int) -> None:
    body = json.dumps({"texts": ["Word " * 1500] * 60}).encode()
    head = (
        f"POST /v1/extract HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    )
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", service))
        deaf.sendall(head + body)
        time.sleep(3)
        with pytest.raises(ConnectionError):
            keep_sending(deaf, b"x")
    assert httpx.get(f"http://127.0.0.1:{service}/healthz").status_code == 200


def test_headers_and_bodies_without_end_are_refused(service: int) -> None:
    with socket.create_connection(("127.0.0.1", service)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises(ConnectionError):
            keep_sending(connection, b"X-Long: " + b"x" * 1000 + b"\r\n")
    with socket.create_connection(("127.0.0.1", service)) as connection:
        connection.sendall(
            b"POST /v1/extract HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        for _ in range(40):
            connection.sendall(chunk)
        connection.settimeout(20)
        assert b" 413 " in connection.recv(65536).partition(b"\r\n")[0]


def test_requests_that_wait_on_one_connection_survive_new_connections() -> None:
    with served(FakeExtractor(), Settings(max_connections=4)) as address:
        port = int(address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            body = b'{"text": "slow Mara"}'
            head = f"POST /v1/extract HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            request = head.encode() + b"\r\n" + body
            connection.sendall(request * 2 + request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            time.sleep(0.4)  # the first is answered, the second under way
            others = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
            assert read_all(connection).count(b"HTTP/1.1 200 OK") == 3
            for other in others:
                other.close()


def test_a_new_connection_takes_the_place_of_the_oldest_idle_one() -> None:
    with served(FakeExtractor(), Settings(max_connections=50)) as address:
        port = int(address.rpartition(":")[2])
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
        assert httpx.post(f"{address}/v1/extract", json={"text": "Mara"}).status_code == 200
        assert idle[0].recv(1) == b""
        idle[-1].settimeout(0.2)
        with pytest.raises(TimeoutError):
            idle[-1].recv(1)
        for connection in idle:
            connection.close()
