"""Around every request: security headers, a request id, one line of log, and an answer to any exception."""

from __future__ import annotations

import logging
import re
import time
from typing import Any
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spanwise.serve.logs import described, event
from spanwise.serve.measures import Measures
from spanwise.serve.refusals import Refusal

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Envelope:
    """ASGI middleware. A path that is no route is logged and counted as `other`."""

    def __init__(self, app: ASGIApp, measures: Measures) -> None:
        self.app, self.measures = app, measures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        name = given if _ID.fullmatch(given) else uuid4().hex
        began, status = time.perf_counter(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = name
                for header, value in SECURITY_HEADERS.items():
                    headers.setdefault(header, value)
            await send(message)

        facts: dict[str, Any] = scope.setdefault("state", {}).setdefault("facts", {})
        try:
            await self.app(scope, receive, send_with_headers)
        except ClientDisconnect:
            status = 499
        except Exception as error:
            event("failed", logging.ERROR, id=name, **described(error))
            if status == 0:
                refusal = Refusal(500, "internal_error", "the service failed; its log has the cause by request id.")
                await refusal.response()(scope, receive, send_with_headers)
        finally:
            seconds = time.perf_counter() - began
            route = getattr(scope.get("route"), "path", "other")
            self.measures.answer(route, status, seconds)
            milliseconds = round(seconds * 1000, 1)
            event("request", id=name, route=route, status=status, ms=milliseconds, **facts)
