"""Several processes on one socket: this one starts them, replaces those that die, and passes the signal on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from threading import Thread
from types import FrameType

from prometheus_client.multiprocess import mark_process_dead

from spanwise import runtime
from spanwise.errors import SpanwiseError
from spanwise.serve.logs import event
from spanwise.serve.measures import MULTIPROCESS
from spanwise.serve.settings import Settings

SOCKET_VARIABLE = "SPANWISE_SERVE_SOCKET"  # the file descriptor that a worker inherits
PARENT_VARIABLE = "SPANWISE_SERVE_PARENT"  # the end of a pipe whose other end closes with the supervisor
SHORTEST_LIFE = 10.0  # seconds; a worker that ends by itself earlier is not replaced


def inherited_socket() -> socket.socket | None:
    """The socket of a worker, which ends with its supervisor; None in a process that a user started."""
    number = os.environ.get(SOCKET_VARIABLE)
    if number is None:
        return None
    Thread(target=_end_with_parent, args=(int(os.environ[PARENT_VARIABLE]),), daemon=True).start()
    return socket.socket(fileno=int(number))


def _end_with_parent(pipe: int) -> None:
    os.read(pipe, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def supervise(settings: Settings, bound: socket.socket, command: list[str]) -> None:
    """Run `settings.workers` processes of this command until a signal."""
    with TemporaryDirectory() as folder:
        team = Team(settings.workers, bound, command, folder)
        with _signals(team):
            try:
                while not team.stopping:
                    team.fill()
                    time.sleep(0.2)
            finally:
                team.stop()


@contextmanager
def _signals(team: Team) -> Iterator[None]:
    """The first signal stops the workers gracefully; each further one is passed on and ends them."""

    def receive(number: int, _: FrameType | None) -> None:
        if team.stopping:
            team.terminate()
        team.stopping = True

    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Team:
    """The workers. A group of their own keeps Ctrl-C of a terminal from reaching them twice."""

    def __init__(self, size: int, bound: socket.socket, command: list[str], folder: str) -> None:
        self.size, self.command, self.folder = size, command, folder
        self.stopping = False
        self.workers: dict[subprocess.Popen[bytes], float] = {}  # with the time of their start
        pipe, self.open_end = os.pipe()
        self.descriptors = (bound.fileno(), pipe)
        threads = str(max(1, runtime.available_cores() // size))
        inherited = {SOCKET_VARIABLE: str(bound.fileno()), PARENT_VARIABLE: str(pipe), MULTIPROCESS: folder}
        self.environment = {runtime.THREADS_VARIABLE: threads, **os.environ, **inherited}

    def fill(self) -> None:
        """Start workers for those that are missing; an error if one ended as soon as it had started."""
        for worker in [worker for worker in self.workers if worker.poll() is not None]:
            started = self.workers.pop(worker)
            mark_process_dead(worker.pid, self.folder)  # type: ignore[no-untyped-call]
            event("worker ended", worker=worker.pid, status=worker.returncode)
            if time.monotonic() - started < SHORTEST_LIFE:
                raise SpanwiseError(f"a worker ended with status {worker.returncode}; its message is above.")
        while len(self.workers) < self.size:
            worker = subprocess.Popen(  # noqa: S603
                self.command, env=self.environment, pass_fds=self.descriptors, process_group=0
            )
            self.workers[worker] = time.monotonic()
            event("worker started", worker=worker.pid)

    def terminate(self) -> None:
        for worker in self.workers:
            worker.terminate()

    def stop(self) -> None:
        """Ask all workers to finish, and wait for them."""
        self.stopping = True
        self.terminate()
        for worker in self.workers:
            worker.wait()
