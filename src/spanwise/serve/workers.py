"""Several processes on one socket: this one starts them, replaces those that die, and passes the signal on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from tempfile import TemporaryDirectory
from types import FrameType

from spanwise import runtime
from spanwise.serve.logs import event
from spanwise.serve.settings import Settings

SOCKET_VARIABLE = "SPANWISE_SERVE_SOCKET"  # the file descriptor that a worker inherits


def inherited_socket() -> socket.socket | None:
    """The socket of a worker; None in a process that a user started."""
    number = os.environ.get(SOCKET_VARIABLE)
    return socket.socket(fileno=int(number)) if number else None


def supervise(settings: Settings, bound: socket.socket) -> None:
    """Run `settings.workers` processes with this process's arguments until a signal."""
    stopping = False

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    with TemporaryDirectory() as folder:
        shared = {SOCKET_VARIABLE: str(bound.fileno()), "PROMETHEUS_MULTIPROC_DIR": folder}
        threads = str(max(1, runtime.available_cores() // settings.workers))
        environment = {runtime.THREADS_VARIABLE: threads, **os.environ, **shared}
        command = [sys.executable, "-m", "spanwise", *sys.argv[1:]]
        workers: list[subprocess.Popen[bytes]] = []
        while not stopping:
            workers = [worker for worker in workers if worker.poll() is None]
            while len(workers) < settings.workers:
                workers.append(subprocess.Popen(command, env=environment, pass_fds=[bound.fileno()]))  # noqa: S603
                event("worker started", worker=workers[-1].pid)
            time.sleep(0.5)
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait()
