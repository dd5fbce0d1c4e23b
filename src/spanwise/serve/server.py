"""The server process: uvicorn with our limits, and a shutdown that finishes what was accepted."""

from __future__ import annotations

import logging
import resource
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from threading import current_thread, main_thread
from types import FrameType

import uvicorn
from fastapi import FastAPI

from spanwise.errors import InputError
from spanwise.serve.connections import Connections
from spanwise.serve.logs import event
from spanwise.serve.settings import Settings

RESERVED_FILES = 128  # file descriptors that are no connections
REPEATED = 1.0  # seconds in which a signal counts once: launchers may send it twice


class Server(uvicorn.Server):
    """TERM and INT stop it with exit code 0 once every accepted request has its answer; a later signal ends it."""

    signalled: float | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if current_thread() is not main_thread():  # signals reach the main thread alone
            yield
            return
        before = {number: signal.signal(number, self._receive) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.signalled is None:
            self.signalled, self.should_exit = now, True
        elif now - self.signalled > REPEATED:
            self.force_exit = True


def bind(settings: Settings) -> socket.socket:
    """The socket of the service, which workers can inherit."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((settings.host, settings.port))
    except OSError as error:
        bound.close()
        raise InputError(
            f"cannot listen on {settings.host} port {settings.port} ({error.strerror}); choose others with --host and "
            f"--port."
        ) from None
    bound.set_inheritable(True)
    return bound


def create_server(app: FastAPI, settings: Settings) -> Server:
    """uvicorn with the limits of these settings."""
    connections = Connections(settings, min(settings.max_connections, _file_limit() - RESERVED_FILES))
    config = uvicorn.Config(
        app,
        http=connections.protocol,  # type: ignore[arg-type]
        ws="none",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=2048,
        timeout_keep_alive=int(settings.keep_alive),
        timeout_graceful_shutdown=int(settings.shutdown_timeout),
    )
    return Server(config)


def run(app: FastAPI, settings: Settings, bound: socket.socket) -> None:
    """Serve until a signal."""
    server = create_server(app, settings)
    host, port = bound.getsockname()[:2]
    event("started", host=host, port=port)
    if settings.token is None and not ip_address(host).is_loopback:
        event("without token", logging.WARNING, host=host)
    server.run(sockets=[bound])
    event("stopped", answered=server.server_state.total_requests)


def _file_limit() -> int:
    """The number of files that this process may open, raised as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(65_536, hard) if hard != resource.RLIM_INFINITY else 65_536
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
