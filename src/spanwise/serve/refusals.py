"""Requests that the service refuses: a status, a code for programs, and one sentence for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

RETRY_AFTER = 1  # seconds


class Refusal(Exception):  # noqa: N818
    """A request that is answered with an error."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(code)
        self.status, self.code, self.message, self.headers = status, code, message, dict(headers or {})

    def response(self) -> Response:
        return json_response(
            {"error": {"code": self.code, "message": self.message}}, status=self.status, headers=self.headers
        )


def busy(code: str, message: str) -> Refusal:
    """A refusal that may go well later."""
    return Refusal(503, code, message, {"Retry-After": str(RETRY_AFTER)})


def json_response(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    content = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(content.encode(), status, headers=dict(headers or {}), media_type="application/json")
