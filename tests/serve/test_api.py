"""The service in process: answers equal the library's, wrong requests get a clear error, logs hold no text."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
from fake import FakeExtractor
from starlette.testclient import TestClient

from spanwise import Document, Extractor
from spanwise.errors import InputError
from spanwise.serve.api import create_app
from spanwise.serve.logs import JsonFormatter
from spanwise.serve.settings import Settings

LEGACY = Path(__file__).parents[1] / "legacy" / "bundle"
TEXT = "Mara Ostrow met Bo Lind in Brenford ."
JSON = {"Content-Type": "application/json", "Authorization": "Bearer secret"}


@pytest.fixture(scope="module")
def service() -> Iterator[TestClient]:
    """A fake model with relations behind small limits and a token."""
    settings = Settings(token="secret", max_body=5000, max_texts=3, max_characters=1000, max_entities=4)  # noqa: S106
    with TestClient(create_app(FakeExtractor(), settings)) as client:  # type: ignore[arg-type]
        yield client


def extract(service: TestClient, **body: Any) -> Any:
    answer = service.post("/v1/extract", json=body, headers=JSON)
    assert answer.status_code == 200, answer.text
    return answer.json()["documents"]


def test_answers_equal_those_of_the_library() -> None:
    extractor = Extractor.from_pretrained(LEGACY)
    texts = [TEXT, "", "Acme hired Mara ."]
    with TestClient(create_app(extractor, Settings())) as service:
        found = [Document.from_dict(record) for record in extract(service, texts=texts)]
        split = [Document.from_dict(record) for record in extract(service, words=[TEXT.split(), ["Mara"]])]
    expected = [*extractor(texts), *extractor(words=[TEXT.split(), ["Mara"]])]
    assert any(document.entities for document in found)
    for one, other in zip([*found, *split], expected, strict=True):
        assert (one.text, one.words) == (other.text, other.words)
        assert [(e.start, e.end, e.label) for e in one.entities] == [(e.start, e.end, e.label) for e in other.entities]
        assert [e.score for e in one.entities] == pytest.approx([e.score for e in other.entities], abs=1e-5)


def test_relations_are_sought_between_given_entities(service: TestClient) -> None:
    given = [{"start": 27, "end": 35, "label": "Place"}, {"start": 0, "end": 11, "label": "Person"}]
    (document,) = extract(service, text=TEXT, entities=given)
    assert [(e["start"], e["end"], e["label"]) for e in document["entities"]] == [(27, 35, "Place"), (0, 11, "Person")]
    assert document["relations"] == [{"head": 0, "tail": 1, "label": "knows", "score": 0.5}]


def test_labels_without_a_description_are_described_by_their_names() -> None:
    asked: list[Any] = []

    class Open(FakeExtractor):
        def _read(self, document: Document, labels: Any, **options: Any) -> Document:
            asked.append(labels)
            return super()._read(document, labels, **options)

    with TestClient(create_app(Open(open_labels=True), Settings())) as service:  # type: ignore[arg-type]
        extract(service, text=TEXT, labels=["river"])
        extract(service, text=TEXT, labels={"river": "Running water.", "town": " "})
        assert service.post("/v1/extract", json={"text": "x", "labels": ["a", "a"]}).status_code == 422
    assert asked == [{"river": "river"}, {"river": "Running water.", "town": "town"}]


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b'{"text": "x"}', {"Authorization": "Bearer wrong"}, 401, "unauthorized"),
        (b'{"text": "x"}', {"Authorization": "Basic secret"}, 401, "unauthorized"),
        (b'{"text": "x"}', {"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
        (b'{"text": "x"}', {"Content-Type": "application/json; charset=latin-1"}, 415, "unsupported_media_type"),
        (b'{"text": "x"}', {"Content-Encoding": "gzip"}, 415, "unsupported_encoding"),
        (b'{"text": "' + b"x" * 6000 + b'"}', {}, 413, "body_too_large"),
        (b"[" * 4000, {}, 400, "invalid_json"),
        (b'{"text":' + b'{"a":' * 700 + b"1" + b"}" * 701, {}, 400, "invalid_json"),
        (b"", {}, 400, "invalid_json"),
        (b"[]", {}, 422, "invalid_request"),
        (b'{"text": "\xff"}', {}, 400, "invalid_utf8"),
        (b'{"text": "\\ud800"}', {}, 400, "invalid_json"),
        (b'{"text": "' + b"x" * 1001 + b'"}', {}, 422, "invalid_request"),
        (b'{"texts": ["a", "b", "c", "d"]}', {}, 422, "invalid_request"),
        (b'{"text": "a", "texts": ["b"]}', {}, 422, "invalid_request"),
        (b'{"text": "a", "labels": ["drug"]}', {}, 422, "invalid_request"),
        (b'{"text": "a", "threshold": {"nope": 0.5}}', {}, 422, "invalid_request"),
        (b'{"text": "a", "threshold": 0}', {}, 422, "invalid_request"),
        (b'{"text": "a", "threshold": NaN}', {}, 422, "invalid_request"),
        (b'{"text": "a", "threshold": true}', {}, 422, "invalid_request"),
        (b'{"words": ["a", ["b"]]}', {}, 422, "invalid_request"),
        (b'{"words": ["a", " "]}', {}, 422, "invalid_request"),
        (b'{"words": [' + b'"aa",' * 400 + b'"a"]}', {}, 422, "invalid_request"),
        (b'{"texts": ["a"], "entities": []}', {}, 422, "invalid_request"),
        (b'{"text": "a", "entities": [{"start": 0, "end": 9, "label": "Person"}]}', {}, 422, "invalid_request"),
        (b'{"text": "a", "entities": [{"start": 0, "end": 1, "label": "Nope"}]}', {}, 422, "invalid_request"),
        (b'{"text": "a", "entities": [], "threshold": 0.5}', {}, 422, "invalid_request"),
    ],
)
def test_wrong_requests_get_a_clear_error(
    service: TestClient, body: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    answer = service.post("/v1/extract", content=body, headers={**JSON, **headers})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_page_and_health_are_open_and_the_rest_is_not(service: TestClient) -> None:
    paths = ("/", "/healthz", "/readyz", "/assets/arcs.js", "/v1/schema", "/metrics", "/assets/..%2Fapi.py", "/nope")
    assert [service.get(path).status_code for path in paths] == [200, 200, 200, 200, 401, 401, 404, 404]
    schema: dict[str, Any] = service.get("/v1/schema", headers=JSON).json()
    assert schema["limits"] == {"characters": 1000, "texts": 3, "body": 5000}
    assert [label["name"] for label in schema["entities"]] == ["Person", "Place"]
    assert schema["relations"][0]["symmetric"] is True
    assert (schema["open_labels"], schema["predicts_relations"]) == (False, True)
    assert service.get("/v1/extract").status_code == 405


def test_security_headers_are_on_every_answer_and_cors_is_off(service: TestClient) -> None:
    for path in ("/", "/assets/app.js", "/healthz", "/nope"):
        headers = service.get(path, headers={"Origin": "http://x.example"}).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "'unsafe-inline'" not in headers["content-security-policy"]
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers
    allowing = create_app(FakeExtractor(), Settings(cors_origins=("http://x.example",)))  # type: ignore[arg-type]
    with TestClient(allowing) as other:
        allowed = [
            other.get("/healthz", headers={"Origin": f"http://{host}.example"}).headers.get(
                "access-control-allow-origin"
            )
            for host in ("x", "y")
        ]
    assert allowed == ["http://x.example", None]


def test_a_failure_is_answered_with_500_and_the_next_request_works(service: TestClient) -> None:
    failed = service.post("/v1/extract", json={"text": "broken"}, headers=JSON)
    assert (failed.status_code, failed.json()["error"]["code"]) == (500, "internal_error")
    assert extract(service, text="Mara")[0]["entities"]


def test_logs_have_no_text_label_or_token(service: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    names = {**JSON, "X-Request-ID": "request-7"}
    for body in ({"text": "Hushword"}, {"text": "broken Hushword"}, {"text": "x", "threshold": {"Hushword": 0.5}}):
        assert service.post("/v1/extract", json=body, headers=names).headers["x-request-id"] == "request-7"
    service.get("/Hushword?token=Hushword", headers={"Authorization": "Bearer Hushword"})
    lines = [JsonFormatter().format(record) for record in caplog.records]
    rows = [json.loads(line) for line in lines if "request-7" in line]
    assert [row.get("status") for row in rows] == [200, None, 500, 422]
    assert [row.get("error") for row in rows] == [None, "RuntimeError", None, None]
    ours = [line for line in lines if "httpx" not in line]
    assert not any("Hushword" in line or "secret" in line for line in ours)


def test_metrics_count_answers_texts_and_batches(service: TestClient) -> None:
    def value(name: str) -> float:
        lines = service.get("/metrics", headers=JSON).text.splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    names = ('spanwise_requests_total{route="/v1/extract",status="200"}', "spanwise_texts_total", "spanwise_waiting")
    before = [value(name) for name in names]
    extract(service, texts=["Mara", "Bo"])
    service.get("/a/path/of/nobody")
    assert [value(name) - old for name, old in zip(names, before, strict=True)] == [1, 2, 0]
    assert value('spanwise_requests_total{route="other",status="404"}') >= 1


def test_a_service_without_free_places_is_not_ready() -> None:
    with TestClient(create_app(FakeExtractor(), Settings(max_queue=0))) as service:  # type: ignore[arg-type]
        answers = [service.get("/readyz"), service.post("/v1/extract", json={"text": "x"}), service.get("/healthz")]
    assert [answer.status_code for answer in answers] == [503, 503, 200]
    assert answers[0].headers["retry-after"] == "1"


def test_bodies_together_are_bounded_and_forgotten() -> None:
    limits = Settings(max_bodies=100)
    with TestClient(create_app(FakeExtractor(), limits)) as service:  # type: ignore[arg-type]
        answers = [service.post("/v1/extract", json={"text": "x" * size}) for size in (60, 60, 200, 60)]
    assert [answer.status_code for answer in answers] == [200, 200, 503, 200]


@pytest.mark.parametrize("token", ["", "two words", "naïve"])
def test_tokens_that_no_header_can_hold_are_rejected(token: str) -> None:
    with pytest.raises(InputError, match="choose another"):
        Settings(token=token)
