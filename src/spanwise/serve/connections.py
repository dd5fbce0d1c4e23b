"""Connections that are slow or idle: each has little time, and the oldest idle one makes room for a new one."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from spanwise.serve.settings import Settings


class Connections:
    """The connections of one server without a request under way, oldest first."""

    def __init__(self, settings: Settings, limit: int) -> None:
        self.settings, self.limit = settings, limit
        self.idle: dict[LimitedProtocol, None] = {}

    def protocol(self, **arguments: Any) -> LimitedProtocol:
        return LimitedProtocol(self, **arguments)


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with time limits for receiving a request and for reading an answer."""

    def __init__(self, shared: Connections, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.shared = shared
        self.receiving: asyncio.TimerHandle | None = None
        self.sending: asyncio.TimerHandle | None = None
        self.header_bytes: int | None = 0  # None: the headers are complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request()
        self.shared.idle[self] = None
        if len(self.connections) > self.shared.limit:
            next(iter(self.shared.idle)).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.shared.idle.pop(self, None)
        for timer in (self.receiving, self.sending):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        if self.header_bytes is not None:
            self.header_bytes += len(data)
        super().data_received(data)
        if self.header_bytes is not None and self.header_bytes > self.shared.settings.max_header:
            self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.header_bytes = 0
        if self.receiving is None:
            self._await_request()

    def on_headers_complete(self) -> None:
        self.header_bytes = None
        self.shared.idle.pop(self, None)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if self.receiving is not None:
            self.receiving.cancel()
            self.receiving = None

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():  # the newest of those that are pipelined
            self.shared.idle[self] = None

    def pause_writing(self) -> None:
        self.flow.pause_writing()
        self.sending = self.loop.call_later(self.shared.settings.send_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        self.flow.resume_writing()
        if self.sending is not None:
            self.sending.cancel()
            self.sending = None

    def _await_request(self) -> None:
        """The service answers a slow body with 408 first; a second later the connection ends."""
        self.receiving = self.loop.call_later(self.shared.settings.receive_timeout + 1, self.transport.abort)
