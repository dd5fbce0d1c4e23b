"""A service of `spanwise serve`, used like an `Extractor`."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, overload

from spanwise.document import Document
from spanwise.errors import InputError, SpanwiseError
from spanwise.schema import Schema

Threshold = float | Mapping[str, float]
TEXTS_PER_REQUEST = 32
LONGEST_WAIT = 10.0  # seconds between two attempts


class ServiceError(SpanwiseError):
    """The service refused a request; `status` and `code` say why."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class _Base:
    def __init__(self, url: str, *, token: str | None = None, timeout: float = 60.0, retries: int = 5) -> None:
        try:
            import httpx
        except ModuleNotFoundError:
            raise InputError("the client needs httpx; run `pip install 'spanwise[client]'`.") from None
        self.retries = retries
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._arguments: dict[str, Any] = {"base_url": url, "headers": headers, "timeout": timeout}
        self._httpx = httpx

    def _wait(self, response: Any, attempt: int) -> float | None:
        """Seconds until the next attempt; None if there is none."""
        if response.status_code != 503 or attempt >= self.retries:
            return None
        asked = response.headers.get("retry-after", "")
        backoff = 0.1 * 2**attempt * random.uniform(0.5, 1.5)  # noqa: S311
        least = float(asked) if asked.isdecimal() else 0.0
        return float(min(LONGEST_WAIT, max(backoff, least)))


def _answer(response: Any) -> Any:
    try:
        value = response.json()
    except ValueError:
        value = None
    if response.status_code == 200 and isinstance(value, dict):
        return value
    error = value.get("error") if isinstance(value, dict) else None
    problem = error if isinstance(error, dict) else {}
    message = problem.get("message", f"the service answered with status {response.status_code}.")
    raise ServiceError(response.status_code, problem.get("code", "unknown"), message)


def _body(texts: list[str], options: Mapping[str, Any]) -> dict[str, Any]:
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"item {index}: the client takes texts, which are strings, not {type(text).__name__}.")
    given = {key: dict(v) if isinstance(v, Mapping) else v for key, v in options.items() if v is not None}
    return {"texts": texts, **given}


def _documents(answer: Any) -> list[Document]:
    return [Document.from_dict(record) for record in answer["documents"]]


def _schema(answer: Mapping[str, Any]) -> Schema:
    return Schema.from_dict({"entities": answer["entities"], "relations": answer["relations"]})


class Client(_Base):
    """Texts in, documents out. A request that the service is too busy for is repeated `retries` times.

    >>> client = Client("http://127.0.0.1:8000", token="…")
    >>> client("Mara Ostrow joined the University of Brenford.").entities
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 60.0, retries: int = 5) -> None:
        super().__init__(url, token=token, timeout=timeout, retries=retries)
        self._http = self._httpx.Client(**self._arguments)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    @property
    def schema(self) -> Schema:
        """The labels of the model."""
        return _schema(self._request("GET", "/v1/schema"))

    @overload
    def __call__(self, text: str, **options: Any) -> Document: ...
    @overload
    def __call__(self, text: list[str], **options: Any) -> list[Document]: ...

    def __call__(self, text: str | list[str], **options: Any) -> Document | list[Document]:
        """The document of one text, or of each of a list; `labels`, `threshold`, `relation_threshold` as Extractor."""
        if isinstance(text, str):
            return next(self.stream([text], **options))
        return list(self.stream(text, **options))

    def stream(
        self,
        texts: Iterable[str],
        *,
        labels: Mapping[str, str] | None = None,
        threshold: Threshold | None = None,
        relation_threshold: Threshold | None = None,
    ) -> Iterator[Document]:
        """The documents of any number of texts, in order and in bounded memory."""
        options = {"labels": labels, "threshold": threshold, "relation_threshold": relation_threshold}
        rest = iter(texts)
        while chunk := list(islice(rest, TEXTS_PER_REQUEST)):
            yield from _documents(self._request("POST", "/v1/extract", json=_body(chunk, options)))

    def _request(self, method: str, path: str, **content: Any) -> Any:
        for attempt in range(self.retries + 1):
            response = self._http.request(method, path, **content)
            wait = self._wait(response, attempt)
            if wait is None:
                return _answer(response)
            time.sleep(wait)
        raise AssertionError("the last attempt returns")


class AsyncClient(_Base):
    """The same for asyncio: `await client(text)`, `async for document in client.stream(texts)`."""

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 60.0, retries: int = 5) -> None:
        super().__init__(url, token=token, timeout=timeout, retries=retries)
        self._http = self._httpx.AsyncClient(**self._arguments)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def schema(self) -> Schema:
        return _schema(await self._request("GET", "/v1/schema"))

    @overload
    async def __call__(self, text: str, **options: Any) -> Document: ...
    @overload
    async def __call__(self, text: list[str], **options: Any) -> list[Document]: ...

    async def __call__(self, text: str | list[str], **options: Any) -> Document | list[Document]:
        found = [document async for document in self.stream([text] if isinstance(text, str) else text, **options)]
        return found[0] if isinstance(text, str) else found

    async def stream(
        self,
        texts: Iterable[str],
        *,
        labels: Mapping[str, str] | None = None,
        threshold: Threshold | None = None,
        relation_threshold: Threshold | None = None,
    ) -> AsyncIterator[Document]:
        options = {"labels": labels, "threshold": threshold, "relation_threshold": relation_threshold}
        rest = iter(texts)
        while chunk := list(islice(rest, TEXTS_PER_REQUEST)):
            for document in _documents(await self._request("POST", "/v1/extract", json=_body(chunk, options))):
                yield document

    async def _request(self, method: str, path: str, **content: Any) -> Any:
        for attempt in range(self.retries + 1):
            response = await self._http.request(method, path, **content)
            wait = self._wait(response, attempt)
            if wait is None:
                return _answer(response)
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns")
