"""A service of `spanwise serve`, used like an `Extractor`."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

from spanwise.document import Document, Entity
from spanwise.errors import InputError, SpanwiseError
from spanwise.schema import Schema

Threshold = float | Mapping[str, float]
Labels = Mapping[str, str]
Words = list[str] | list[list[str]]
C = TypeVar("C")
TEXTS_PER_REQUEST = 32
CHARACTERS_PER_REQUEST = 100_000
LONGEST_WAIT = 10.0  # seconds between two attempts


class ServiceError(SpanwiseError):
    """The service refused a request or did not answer; `status` (0 without an answer) and `code` say why."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class _Connection:
    """What both clients share: the arguments of httpx, and when to try again.

    Reading a text changes nothing in the service, so a request whose connection broke can be repeated.
    """

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        try:
            import httpx
        except ModuleNotFoundError:
            raise InputError("the client needs httpx; run `pip install 'spanwise[client]'`.") from None
        self.url, self.timeout, self.retries = url, timeout, retries
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.arguments: dict[str, Any] = {"base_url": url, "headers": headers, "timeout": timeout}
        self.httpx = httpx
        self.broken = (httpx.NetworkError, httpx.RemoteProtocolError)

    def wait(self, response: Any, attempt: int) -> float | None:
        """Seconds until the next attempt, where `response` is None if the connection broke; None if there is none."""
        if attempt >= self.retries or (response is not None and response.status_code != 503):
            return None
        asked = "" if response is None else response.headers.get("retry-after", "")
        backoff = 0.1 * 2**attempt * random.uniform(0.5, 1.5)  # noqa: S311
        requested = float(asked) if asked.isdecimal() else 0.0
        return float(min(LONGEST_WAIT, max(backoff, requested)))

    def answer(self, response: Any) -> Any:
        """The JSON of an answer, or the error that it describes."""
        if response is None:
            raise ServiceError(0, "unreachable", f"{self.url} does not answer; check that the service runs.")
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

    def late(self) -> ServiceError:
        return ServiceError(0, "timeout", f"{self.url} gave no answer within {self.timeout:g} seconds.")


def _options(**options: Any) -> dict[str, Any]:
    """The fields of a request from the arguments that were given."""
    return {key: dict(v) if isinstance(v, Mapping) else v for key, v in options.items() if v is not None}


def _call_bodies(
    text: str | list[str] | None, words: Words | None, entities: Sequence[Entity] | None, options: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The requests of one call."""
    if (text is None) == (words is None):
        raise InputError("give either a text (or a list of texts) or words=, the words of one text or of several.")
    if words is not None:
        yield from _word_bodies(words, options)
    elif entities is not None:
        if not isinstance(text, str):
            raise InputError("entities= goes with one text, not with words= or a list.")
        given = [{"start": entity.start, "end": entity.end, "label": entity.label} for entity in entities]
        yield {"text": text, "entities": given, **options}
    elif isinstance(text, str):
        yield {"text": text, **options}
    elif isinstance(text, (list, tuple)):
        yield from ({"texts": chunk, **options} for chunk in _chunks(_checked(text)))
    else:
        raise InputError(f"give a text or a list of texts, not {type(text).__name__}; for an iterable use stream().")


def _word_bodies(words: Words, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A list of words is one text; a list of lists is several, of which a request takes some."""
    if not _is_several(words):
        yield {"words": words, **options}
        return
    for chunk in _chunks(words, lambda text: sum(map(len, text)) + len(text)):
        yield {"words": chunk, **options}


def _is_several(words: Words) -> bool:
    return bool(words) and isinstance(words[0], (list, tuple))


def _checked(texts: Iterable[str]) -> Iterator[str]:
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                f"item {index}: a text is a string, not {type(text).__name__}; for split texts use words=."
            )
        yield text


def _chunks(texts: Iterable[Any], length: Callable[[Any], int] = len) -> Iterator[list[Any]]:
    """Texts in groups that fit into a request."""
    chunk: list[Any] = []
    characters = 0
    for text in texts:
        if chunk and (len(chunk) == TEXTS_PER_REQUEST or characters + length(text) > CHARACTERS_PER_REQUEST):
            yield chunk
            chunk, characters = [], 0
        chunk.append(text)
        characters += length(text)
    if chunk:
        yield chunk


def _split_pairs(pairs: Iterable[tuple[str, C]], contexts: list[C]) -> Iterator[str]:
    for index, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputError(f"item {index}: with as_tuples=True every item is a pair (text, context).")
        contexts.append(pair[1])
        yield pair[0]


def _documents(answer: Any) -> list[Document]:
    return [Document.from_dict(record) for record in answer["documents"]]


def _schema(answer: Mapping[str, Any]) -> Schema:
    return Schema.from_dict({"entities": answer["entities"], "relations": answer["relations"]})


class Client:
    """Texts in, documents out. A request that the service is too busy for is repeated `retries` times.

    >>> client = Client("http://127.0.0.1:8000", token="…")
    >>> client("Mara Ostrow joined the University of Brenford.").entities
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 60.0, retries: int = 5) -> None:
        self._connection = _Connection(url, token, timeout, retries)
        self._http = self._connection.httpx.Client(**self._connection.arguments)

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
    def __call__(
        self,
        text: str,
        *,
        entities: Sequence[Entity] | None = ...,
        labels: Labels | None = ...,
        relations: Labels | None = ...,
        threshold: Threshold | None = ...,
        relation_threshold: Threshold | None = ...,
    ) -> Document: ...
    @overload
    def __call__(
        self,
        text: list[str],
        *,
        labels: Labels | None = ...,
        relations: Labels | None = ...,
        threshold: Threshold | None = ...,
        relation_threshold: Threshold | None = ...,
    ) -> list[Document]: ...
    @overload
    def __call__(
        self,
        *,
        words: Words,
        labels: Labels | None = ...,
        relations: Labels | None = ...,
        threshold: Threshold | None = ...,
        relation_threshold: Threshold | None = ...,
    ) -> Document | list[Document]: ...

    def __call__(
        self,
        text: str | list[str] | None = None,
        *,
        words: Words | None = None,
        entities: Sequence[Entity] | None = None,
        labels: Labels | None = None,
        relations: Labels | None = None,
        threshold: Threshold | None = None,
        relation_threshold: Threshold | None = None,
    ) -> Document | list[Document]:
        """The document of one text, or the documents of a list; the arguments are those of `Extractor`."""
        options = _options(
            labels=labels, relations=relations, threshold=threshold, relation_threshold=relation_threshold
        )
        bodies = _call_bodies(text, words, entities, options)
        found = [document for body in bodies for document in self._extract(body)]
        return found if isinstance(text, (list, tuple)) or (words is not None and _is_several(words)) else found[0]

    @overload
    def stream(
        self, texts: Iterable[str], *, as_tuples: Literal[False] = ..., **options: Any
    ) -> Iterator[Document]: ...
    @overload
    def stream(
        self, texts: Iterable[tuple[str, C]], *, as_tuples: Literal[True], **options: Any
    ) -> Iterator[tuple[Document, C]]: ...

    def stream(self, texts: Iterable[Any], *, as_tuples: bool = False, **options: Any) -> Iterator[Any]:
        """The documents of any number of texts, in order and in bounded memory; `as_tuples` as in `Extractor`."""
        contexts: list[Any] = []
        given = _stream_options(**options)
        for chunk in _chunks(_checked(_split_pairs(texts, contexts) if as_tuples else texts)):
            documents = self._extract({"texts": chunk, **given})
            yield from _with_contexts(documents, contexts) if as_tuples else documents

    def _extract(self, body: dict[str, Any]) -> list[Document]:
        return _documents(self._request("POST", "/v1/extract", json=body))

    def _request(self, method: str, path: str, **content: Any) -> Any:
        connection = self._connection
        for attempt in range(connection.retries + 1):
            try:
                response = self._http.request(method, path, **content)
            except connection.broken:
                response = None
            except connection.httpx.TimeoutException:
                raise connection.late() from None
            wait = connection.wait(response, attempt)
            if wait is None:
                return connection.answer(response)
            time.sleep(wait)
        raise AssertionError("the last attempt returns")


def _stream_options(
    *,
    labels: Labels | None = None,
    relations: Labels | None = None,
    threshold: Threshold | None = None,
    relation_threshold: Threshold | None = None,
) -> dict[str, Any]:
    return _options(labels=labels, relations=relations, threshold=threshold, relation_threshold=relation_threshold)


def _with_contexts(documents: list[Document], contexts: list[C]) -> list[tuple[Document, C]]:
    """The documents with the oldest contexts, which are removed from the list."""
    pairs = list(zip(documents, contexts, strict=False))
    del contexts[: len(pairs)]
    return pairs


class AsyncClient:
    """The same for asyncio: `await client(text)`, `async for document in client.stream(texts)`."""

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 60.0, retries: int = 5) -> None:
        self._connection = _Connection(url, token, timeout, retries)
        self._http = self._connection.httpx.AsyncClient(**self._connection.arguments)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def schema(self) -> Schema:
        """The labels of the model."""
        return _schema(await self._request("GET", "/v1/schema"))

    async def __call__(
        self,
        text: str | list[str] | None = None,
        *,
        words: Words | None = None,
        entities: Sequence[Entity] | None = None,
        labels: Labels | None = None,
        relations: Labels | None = None,
        threshold: Threshold | None = None,
        relation_threshold: Threshold | None = None,
    ) -> Any:
        """The document of one text, or the documents of a list."""
        options = _options(
            labels=labels, relations=relations, threshold=threshold, relation_threshold=relation_threshold
        )
        found: list[Document] = []
        for body in _call_bodies(text, words, entities, options):
            found += await self._extract(body)
        return found if isinstance(text, (list, tuple)) or (words is not None and _is_several(words)) else found[0]

    async def stream(self, texts: Iterable[Any], *, as_tuples: bool = False, **options: Any) -> AsyncIterator[Any]:
        """The documents of any number of texts, in order and in bounded memory."""
        contexts: list[Any] = []
        given = _stream_options(**options)
        for chunk in _chunks(_checked(_split_pairs(texts, contexts) if as_tuples else texts)):
            documents = await self._extract({"texts": chunk, **given})
            for item in _with_contexts(documents, contexts) if as_tuples else documents:
                yield item

    async def _extract(self, body: dict[str, Any]) -> list[Document]:
        return _documents(await self._request("POST", "/v1/extract", json=body))

    async def _request(self, method: str, path: str, **content: Any) -> Any:
        connection = self._connection
        for attempt in range(connection.retries + 1):
            try:
                response = await self._http.request(method, path, **content)
            except connection.broken:
                response = None
            except connection.httpx.TimeoutException:
                raise connection.late() from None
            wait = connection.wait(response, attempt)
            if wait is None:
                return connection.answer(response)
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns")
