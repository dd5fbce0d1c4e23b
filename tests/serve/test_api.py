"""The service in process: its answers equal the library's, and wrong requests get a clear error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
from starlette.testclient import TestClient

from spanwise import Document, Extractor
from spanwise.serve.api import create_app
from spanwise.serve.settings import Settings

LEGACY = Path(__file__).parents[1] / "legacy" / "bundle"
TEXT = "Mara Ostrow met Bo Lind in Brenford ."
JSON = {"Content-Type": "application/json", "Authorization": "Bearer secret"}


@pytest.fixture(scope="module")
def extractor() -> Extractor:
    return Extractor.from_pretrained(LEGACY)


@pytest.fixture(scope="module")
def service(extractor: Extractor) -> Iterator[TestClient]:
    settings = Settings(token="secret", max_body=5000, max_texts=3, max_characters=1000)  # noqa: S106
    with TestClient(create_app(extractor, settings)) as client:
        yield client


def test_answers_equal_those_of_the_library(service: TestClient, extractor: Extractor) -> None:
    texts = [TEXT, "", "Acme hired Mara ."]
    answer = service.post("/v1/extract", json={"texts": texts}, headers=JSON)
    assert answer.status_code == 200, answer.text
    found = [Document.from_dict(record) for record in answer.json()["documents"]]
    assert any(document.entities for document in found)
    for one, other in zip(found, extractor(texts), strict=True):
        assert [(e.start, e.end, e.label) for e in one.entities] == [(e.start, e.end, e.label) for e in other.entities]
        assert [e.score for e in one.entities] == pytest.approx([e.score for e in other.entities], abs=1e-5)


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b'{"text": "x"}', {"Authorization": "Bearer wrong"}, 401, "unauthorized"),
        (b'{"text": "x"}', {"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
        (b'{"text": "' + b"x" * 6000 + b'"}', {}, 413, "body_too_large"),
        (b"[" * 4000, {}, 400, "invalid_json"),
        (b'{"text": "\xff"}', {}, 400, "invalid_utf8"),
        (b'{"text": "\\ud800"}', {}, 400, "invalid_json"),
        (b'{"text": "' + b"x" * 1001 + b'"}', {}, 422, "invalid_request"),
        (b'{"texts": ["a", "b", "c", "d"]}', {}, 422, "invalid_request"),
        (b'{"text": "a", "texts": ["b"]}', {}, 422, "invalid_request"),
        (b'{"text": "a", "labels": ["drug"]}', {}, 422, "invalid_request"),
        (b'{"text": "a", "threshold": {"nope": 0.5}}', {}, 422, "invalid_request"),
    ],
)
def test_wrong_requests_get_a_clear_error(
    service: TestClient, body: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    answer = service.post("/v1/extract", content=body, headers={**JSON, **headers})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_page_and_health_are_open_and_the_rest_is_not(service: TestClient) -> None:
    paths = ("/", "/healthz", "/readyz", "/assets/arcs.js", "/v1/schema", "/metrics", "/assets/..%2Fapi.py")
    assert [service.get(path).status_code for path in paths] == [200, 200, 200, 200, 401, 401, 404]
    schema: dict[str, Any] = service.get("/v1/schema", headers=JSON).json()
    assert schema["limits"] == {"characters": 1000, "texts": 3, "body": 5000}
    assert "access-control-allow-origin" not in service.get("/healthz", headers={"Origin": "http://x.example"}).headers
