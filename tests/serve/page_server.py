"""A server of the page with canned answers: it fixes what the page has to draw, and keeps what the page asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from spanwise.serve.assets import page_assets
from spanwise.serve.envelope import SECURITY_HEADERS

LIMITS = {"characters": 2000, "texts": 8, "body": 100_000}


class PageServer(ThreadingHTTPServer):
    """`documents` maps texts to what is found in them; `refusal` is an error for the next requests."""

    daemon_threads = True

    def __init__(self, documents: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.documents = documents
        self.schema = {**schema, "limits": LIMITS, "version": "0.0"}
        self.open_labels = False
        self.token = ""
        self.refusal: tuple[int, str] | None = None
        self.asked: list[dict[str, Any]] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}/"
        Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


class Answers(BaseHTTPRequestHandler):
    """The page at `/`, its parts under `/assets/`, the API under `/v1/`."""

    server: PageServer

    def do_GET(self) -> None:
        name = "index.html" if self.path == "/" else self.path.removeprefix("/assets/")
        if self.path == "/v1/schema":
            self._answer({**self.server.schema, "open_labels": self.server.open_labels})
        else:
            asset = page_assets()[name]
            self._send(200, asset.type, asset.content)

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(request)
        found = self.server.documents.get(request["text"], {"entities": [], "relations": []})
        self._answer({"documents": [{"text": request["text"], **found}]})

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, value: Any) -> None:
        if self.server.token and self.headers["Authorization"] != f"Bearer {self.server.token}":
            self._error(401, "a token is needed")
        elif self.server.refusal:
            self._error(*self.server.refusal)
        else:
            self._send(200, "application/json", json.dumps(value).encode())

    def _error(self, status: int, message: str) -> None:
        error = {"error": {"code": "refused", "message": message}}
        self._send(status, "application/json", json.dumps(error).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **SECURITY_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
