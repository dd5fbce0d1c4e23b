"""Load a service in a second process on loopback, and check that every answer equals the library's.

    python benchmarks/service.py --model runs/mine --seconds 120 --clients 32

Three phases: clients that send texts of mixed sizes, 5 % of them malformed; the same beside clients that are idle, slow
or never read; and TERM under load. The output is a Markdown table. The exit code is 1 if an answer was lost or wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from spanwise import Extractor, corpora

TOLERANCE = 1e-4  # of scores: rounding depends on the shape of a batch
MALFORMED = (
    (b'{"text": "unfinished', 400),
    (b'{"text": "\xff"}', 400),
    (b"[" * 5000, 400),
    (b'{"texts": []}', 422),
    (b'{"text": 7}', 422),
    (b'{"text": "a", "threshold": 2}', 422),
    (b'{"text": "a", "unknown": 1}', 422),
)


class Case(NamedTuple):
    """A request with what its answer must be; `documents` is None for a malformed one."""

    body: bytes
    status: int
    documents: list[dict[str, Any]] | None = None


@dataclass
class Tally:
    """What the clients of a phase saw."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    texts: int = 0
    lost: int = 0
    wrong: int = 0
    answered: set[str] = field(default_factory=set)  # request ids with a whole answer
    elapsed: float = 0.0  # seconds until the last answer

    def percentile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def make_cases(extractor: Extractor, seed: int, size: int = 200, malformed: float = 0.05) -> list[Case]:
    """Requests of mixed sizes with the library's own answers: one sentence to twelve, one text to eight."""
    rng = random.Random(seed)  # noqa: S311
    sentences = [document.text for document in corpora.load("demo").splits["train"]]
    cases = []
    for number in range(size):
        if number < malformed * size:
            cases.append(Case(*MALFORMED[number % len(MALFORMED)]))
            continue
        lengths = [rng.choice((1, 1, 1, 1, 2, 3, 12)) for _ in range(rng.choice((1, 1, 1, 1, 2, 8)))]
        texts = [" ".join(rng.choices(sentences, k=length)) for length in lengths]
        expected = [document.to_dict() for document in extractor(texts)]
        cases.append(Case(json.dumps({"texts": texts}).encode(), 200, expected))
    return cases


def agree(found: list[Mapping[str, Any]], expected: list[dict[str, Any]]) -> bool:
    """Whether two answers have the same texts, spans and relations, and scores up to rounding."""

    def parts(documents: list[Any]) -> tuple[list[Any], list[float]]:
        rows = [row for document in documents for kind in ("entities", "relations") for row in document[kind]]
        exact = [(d["text"], d.get("words"), len(d["entities"]), len(d["relations"])) for d in documents]
        exact += [tuple(value for key, value in sorted(row.items()) if key != "score") for row in rows]
        return exact, [row.get("score", 1.0) for row in rows]

    (these, scores), (those, others) = parts(found), parts(expected)
    return these == those and all(abs(a - b) <= TOLERANCE for a, b in zip(scores, others, strict=True))


def request_bytes(body: bytes, id: str = "x") -> bytes:
    head = (
        f"POST /v1/extract HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"X-Request-ID: {id}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    return int(head.split(b" ", 2)[1]), await reader.readexactly(int(fields[b"content-length"]))


async def client(name: str, port: int, cases: list[Case], tally: Tally, end: float) -> None:
    """One connection that asks until the end; a connection that breaks loses its request and opens again."""
    rng = random.Random(name)  # noqa: S311
    writer: asyncio.StreamWriter | None = None
    count, start = 0, time.perf_counter()
    while time.monotonic() < end:
        case, id = rng.choice(cases), f"{name}.{count}"
        count += 1
        began = time.perf_counter()
        try:
            if writer is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
            writer.write(request_bytes(case.body, id))
            status, body = await asyncio.wait_for(read_answer(reader), 60)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            tally.lost += 1
            writer = None
            await asyncio.sleep(0.05)
            continue
        tally.seconds.append(time.perf_counter() - began)
        tally.elapsed = time.perf_counter() - start
        tally.statuses[status] += 1
        tally.answered.add(id)
        record(case, status, body, tally)
    if writer is not None:
        writer.close()


def record(case: Case, status: int, body: bytes, tally: Tally) -> None:
    """A 503 asks a client to come back, so it is neither right nor wrong; it has a column of its own."""
    if case.documents is not None and status == 200:
        tally.texts += len(case.documents)
        tally.wrong += not agree(json.loads(body)["documents"], case.documents)
    else:
        tally.wrong += status not in (case.status, 503)


async def load(port: int, cases: list[Case], seconds: float, clients: int, seed: int) -> Tally:
    """Clients side by side for so many seconds."""
    tally, began = Tally(), time.monotonic()
    names = [f"{seed}.{number}" for number in range(clients)]
    await asyncio.gather(*(client(name, port, cases, tally, began + seconds) for name in names))
    return tally


async def beside(port: int, cases: list[Case], seconds: float, clients: int, seed: int, idle: int) -> Tally:
    """The same load beside idle connections, clients that send a byte per second and clients that never read."""
    largest = max((case for case in cases if case.documents), key=lambda case: len(case.body))
    writers = [(await asyncio.open_connection("127.0.0.1", port))[1] for _ in range(idle)]
    slow = [asyncio.create_task(send_slowly(port, largest.body)) for _ in range(20)]
    deaf = [never_reads(port, largest.body) for _ in range(8)]
    try:
        return await load(port, cases, seconds, clients, seed)
    finally:
        for task in slow:
            task.cancel()
        for connection in deaf:
            connection.close()
        for writer in writers:
            writer.close()


async def send_slowly(port: int, body: bytes) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    with suppress(OSError):
        for byte in request_bytes(body):
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(1)


def never_reads(port: int, body: bytes) -> socket.socket:
    """A client that sends one request after the other and reads nothing."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.setblocking(False)
    with suppress(BlockingIOError):
        connection.sendall(request_bytes(body) * 4)
    return connection


class Service:
    """`spanwise serve` in a process of its own; its log goes to a file."""

    def __init__(self, model: str, log: Path, *options: str) -> None:
        self.log = log
        command = [sys.executable, "-m", "spanwise", "serve", model, "--port", "0", *options]
        environment = {name: value for name, value in os.environ.items() if name != "SPANWISE_TOKEN"}
        with log.open("wb") as stream:
            self.process = subprocess.Popen(command, stderr=stream, env=environment)  # noqa: S603
        self.port = int(self._wait_for("started")["port"])

    def events(self) -> Iterator[dict[str, Any]]:
        for line in self.log.read_text(encoding="utf-8").splitlines():
            if line.startswith("{") and line.endswith("}"):
                yield json.loads(line)

    def _wait_for(self, name: str) -> dict[str, Any]:
        end = time.monotonic() + 120
        while time.monotonic() < end and self.process.poll() is None:
            for event in self.events():
                if event["event"] == name and is_listening(event["port"]):
                    return event
            time.sleep(0.05)
        raise RuntimeError(f"the service did not start: {self.log.read_text(encoding='utf-8')[-2000:]}")

    def memory(self) -> float:
        """The largest resident memory of the process so far, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    def terminate(self, seconds: float = 90) -> int:
        """Ask it to stop; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        finally:
            self.process.kill()


def is_listening(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextmanager
def running(model: str, *options: str) -> Iterator[Service]:
    with tempfile.TemporaryDirectory() as folder:
        service = Service(model, Path(folder) / "log", *options)
        try:
            yield service
        finally:
            service.terminate()


async def terminated(service: Service, cases: list[Case], seconds: float, clients: int, seed: int) -> Tally:
    """TERM in the middle of a load. A request that the service answered, by its log, must have reached its client."""
    asking = asyncio.create_task(load(service.port, cases, seconds, clients, seed))
    await asyncio.sleep(seconds / 2)
    code = await asyncio.to_thread(service.terminate)
    tally = await asking
    requests = (event["id"] for event in service.events() if event["event"] == "request")
    accepted = {id for id in requests if id.startswith(f"{seed}.")}
    tally.lost = len(accepted - tally.answered) + len(tally.answered - accepted)
    tally.wrong += code != 0
    return tally


COLUMNS = (
    "phase",
    "requests",
    "requests/s",
    "texts/s",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "4xx",
    "503",
    "lost",
    "wrong",
    "MB",
)


def row(name: str, tally: Tally, memory: float) -> str:
    milliseconds = [f"{1000 * tally.percentile(share):.0f}" for share in (0.5, 0.95, 0.99)]
    requests = sum(tally.statuses.values())
    refused = sum(count for status, count in tally.statuses.items() if 400 <= status < 500)
    rates = [f"{count / tally.elapsed:.1f}" for count in (requests, tally.texts)]
    cells = [
        name,
        requests,
        *rates,
        *milliseconds,
        refused,
        tally.statuses[503],
        tally.lost,
        tally.wrong,
        f"{memory:.0f}",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def measure(
    model: str, seconds: float, clients: int, seed: int, idle: int, threads: int
) -> tuple[list[str], list[Tally]]:
    """The table of all phases, and what was counted in each."""
    cases = make_cases(Extractor.from_pretrained(model, threads=threads), seed)
    phases: dict[str, tuple[float, Callable[[Service, float], Awaitable[Tally]]]] = {
        "load": (seconds, lambda service, s: load(service.port, cases, s, clients, seed)),
        f"load beside {idle:,} idle, 20 slow and 8 that never read": (
            max(3, seconds / 4),
            lambda service, s: beside(service.port, cases, s, clients, seed + 1, idle),
        ),
        "TERM under load": (
            max(3, seconds / 12),
            lambda service, s: terminated(service, cases, s, clients, seed + 2),
        ),
    }
    rows = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    tallies = []
    for name, (length, run) in phases.items():
        with running(model, "--threads", str(threads)) as service:
            asyncio.run(load(service.port, cases, 1, 2, seed - 1))  # warm-up
            memory = [service.memory()]
            tallies.append(asyncio.run(watched(run(service, length), service, memory)))
        rows.append(row(name, tallies[-1], max(memory)))
    return rows, tallies


async def watched(phase: Awaitable[Tally], service: Service, memory: list[float]) -> Tally:
    """The phase, with the largest memory that the service had until it ended."""

    async def watch() -> None:
        with suppress(OSError, ValueError, IndexError):
            while True:
                memory.append(service.memory())
                await asyncio.sleep(0.2)

    watcher = asyncio.create_task(watch())
    tally = await phase
    watcher.cancel()
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="model folder")
    parser.add_argument("--seconds", type=float, default=120, help="length of the first phase")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--idle", type=int, default=1000, help="idle connections in the second phase")
    parser.add_argument("--threads", type=int, default=1, help="threads of the model")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the service ends as well
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192) if hard > 0 else 8192, hard))
    rows, tallies = measure(
        options.model, options.seconds, options.clients, options.seed, options.idle, options.threads
    )
    print("\n".join(rows))
    sys.exit(any(tally.lost or tally.wrong for tally in tallies))


if __name__ == "__main__":
    main()
