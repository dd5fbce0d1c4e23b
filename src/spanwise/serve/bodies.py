"""The body of a request: bounded in size and time, and refused before it costs anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from spanwise.document import Document
from spanwise.errors import shortened
from spanwise.serve.refusals import Refusal, busy
from spanwise.serve.settings import Settings

M = TypeVar("M", bound=BaseModel)


class Bodies:
    """Receives bodies; together they never hold more than `max_bodies` bytes."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.held = 0

    @asynccontextmanager
    async def receive(self, request: Request) -> AsyncIterator[bytes]:
        """The whole body, or a refusal; its bytes count until the block ends."""
        check_type(request)
        length = request.headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self.settings.max_body:
            raise self._too_large()
        body = bytearray()
        try:
            await self._fill(body, request)
            yield bytes(body)
        finally:
            self.held -= len(body)

    async def _fill(self, body: bytearray, request: Request) -> None:
        try:
            async with asyncio.timeout(self.settings.receive_timeout):
                async for chunk in request.stream():
                    self._append(body, chunk)
        except TimeoutError:
            message = f"the request did not arrive within {self.settings.receive_timeout:g} seconds; send it faster."
            raise Refusal(408, "request_timeout", message, {"Connection": "close"}) from None

    def _append(self, body: bytearray, chunk: bytes) -> None:
        body += chunk
        self.held += len(chunk)
        if len(body) > self.settings.max_body:
            raise self._too_large()
        if self.held > self.settings.max_bodies:
            raise busy("busy", "too many requests are being received; repeat the request later.")

    def _too_large(self) -> Refusal:
        return Refusal(413, "body_too_large", f"a body has at most {self.settings.max_body:,} bytes; send less.")


def check_type(request: Request) -> None:
    """Refuse what is not plain JSON in UTF-8."""
    kind, *parameters = (part.strip().lower() for part in request.headers.get("content-type", "").split(";"))
    if kind != "application/json" or any(p.startswith("charset") and "utf-8" not in p for p in parameters):
        raise Refusal(415, "unsupported_media_type", "send the body as application/json in UTF-8.")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "unsupported_encoding", "send the body without a Content-Encoding.")


def bounded(texts: list[Document], settings: Settings) -> list[Document]:
    """The texts, or a refusal if one is too long: words that were joined have more characters than their parts."""
    if any(len(text.text) > settings.max_characters for text in texts):
        raise Refusal(422, "invalid_request", f"a text has at most {settings.max_characters:,} characters; split it.")
    return texts


def parse(body: bytes, model: type[M]) -> M:
    """The body as a model. The parser bounds the depth, and refuses invalid UTF-8 and lone surrogates."""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise Refusal(400, "invalid_utf8", f"byte {error.start} of the body is not valid UTF-8.") from None
    try:
        return model.model_validate_json(body, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    if first["type"] == "json_invalid":
        raise Refusal(400, "invalid_json", shortened(first["msg"], 200))
    place = ".".join(str(part) for part in first["loc"])
    raise Refusal(422, "invalid_request", f"{shortened(place, 80)}: {shortened(first['msg'], 300)}".removeprefix(": "))
