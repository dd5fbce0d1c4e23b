"""The clients against a service on loopback: the interface of an extractor, and retries."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
from serve.fake import FakeExtractor, served
from spanwise import AsyncClient, Client, Document, Entity, Relation
from spanwise.client import ServiceError
from spanwise.errors import InputError
from spanwise.serve.settings import Settings

TEXT = "Mara met Bo."


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    settings = Settings(token="secret", max_characters=150_000)  # noqa: S106
    with served(FakeExtractor(open_labels=True), settings) as address:
        yield address


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address, token="secret") as client:  # noqa: S106
        yield client


def names(document: Document) -> list[tuple[str, str]]:
    return [(document.text_of(entity), entity.label) for entity in document.entities]


def test_a_text_a_list_and_words_give_what_an_extractor_gives(client: Client) -> None:
    assert names(client(TEXT)) == [("Mara", "Person"), ("Bo", "Person")]
    assert [document.text for document in client([TEXT, "", "Ada"])] == [TEXT, "", "Ada"]
    assert client([]) == []
    one = client(words=["Mara", "met", "Bo"])
    assert isinstance(one, Document)
    assert one.word_texts == ["Mara", "met", "Bo"]
    several = client(words=[["Mara", "met"], ["Bo"]])
    assert isinstance(several, list)
    assert [document.word_texts for document in several] == [["Mara", "met"], ["Bo"]]


def test_labels_thresholds_and_given_entities_reach_the_model(client: Client) -> None:
    assert names(client(TEXT, labels={"River": "Running water."}, threshold={"River": 0.4}))[0] == ("Mara", "River")
    related = client(TEXT, entities=[Entity(9, 11, "Person"), Entity(0, 4, "Person")], relation_threshold=0.4)
    assert names(related) == [("Bo", "Person"), ("Mara", "Person")]
    assert related.relations == (Relation(0, 1, "knows", 0.5),)


def test_the_schema_has_descriptions_and_symmetric_relations(client: Client) -> None:
    assert client.schema == FakeExtractor().schema


def test_a_stream_is_cut_into_requests_and_keeps_order_and_contexts(client: Client) -> None:
    texts = [f"Mara{number}" + " x" * (30_000 if number % 9 == 0 else 1) for number in range(80)]
    assert [document.text for document in client.stream(iter(texts))] == texts
    pairs = client.stream(((text, number) for number, text in enumerate(texts)), as_tuples=True)
    assert [(document.text, number) for document, number in pairs] == [(text, n) for n, text in enumerate(texts)]


def test_wrong_arguments_and_refusals_have_a_sentence(client: Client, address: str) -> None:
    for call in (lambda: client(), lambda: client(["a", 1]), lambda: client({"a"}), lambda: client(["a"], entities=[])):
        with pytest.raises(InputError):
            call()  # type: ignore[no-untyped-call]
    with pytest.raises(ServiceError, match="threshold") as refused:
        client(TEXT, threshold=2)
    assert (refused.value.status, refused.value.code) == (422, "invalid_request")
    with Client(address, token="wrong") as other, pytest.raises(ServiceError) as unknown:  # noqa: S106
        other(TEXT)
    assert unknown.value.status == 401


def test_the_async_client_gives_the_same(client: Client, address: str) -> None:
    async def main() -> list[Any]:
        async with AsyncClient(address, token="secret") as other:  # noqa: S106
            streamed = [pair async for pair in other.stream([(TEXT, 7)], as_tuples=True)]
            calls = other(TEXT), other([TEXT, "Ada"]), other(words=["Mara"]), other.schema()
            return [*await asyncio.gather(*calls), streamed]

    expected = [client(TEXT), client([TEXT, "Ada"]), client(words=["Mara"]), client.schema, [(client(TEXT), 7)]]
    assert asyncio.run(main()) == expected


class Busy(HTTPServer):
    """Answers with these statuses, one per request; 0 closes the connection without an answer."""

    def __init__(self, *statuses: int) -> None:
        super().__init__(("127.0.0.1", 0), BusyHandler)
        self.statuses = list(statuses)
        Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class BusyHandler(BaseHTTPRequestHandler):
    server: Busy

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        status = self.server.statuses.pop(0)
        if status == 0:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        good = {"documents": [{"text": TEXT, "entities": [], "relations": []}]}
        body = json.dumps(good if status == 200 else {"error": {"code": "queue_full", "message": "full."}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_busy_services_and_broken_connections_are_asked_again(kind: str) -> None:
    def ask(service: Busy, retries: int) -> Document:
        if kind == "sync":
            return Client(service.address, retries=retries)(TEXT)
        found: Document = asyncio.run(AsyncClient(service.address, retries=retries)(TEXT))
        return found

    service, began = Busy(503, 0, 503, 200), time.monotonic()
    assert ask(service, 3).text == TEXT
    assert service.statuses == []
    assert time.monotonic() - began > 0.3  # 0.1 + 0.2 + 0.4 seconds, each up to a half less
    with pytest.raises(ServiceError, match="full"):
        ask(Busy(503, 503), 1)
    service = Busy(422, 200)
    with pytest.raises(ServiceError):
        ask(service, 3)
    assert service.statuses == [200]


def test_a_service_that_is_not_there_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ServiceError, match="does not answer"):
        Client(f"http://127.0.0.1:{port}", retries=0)(TEXT)
