"""The routes of the service."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from spanwise import __version__
from spanwise.document import Document
from spanwise.errors import SpanwiseError
from spanwise.inference.extractor import Extractor
from spanwise.serve import messages
from spanwise.serve.assets import Asset, page_assets
from spanwise.serve.batcher import Batcher, Extract, Options
from spanwise.serve.bodies import Bodies, bounded, parse
from spanwise.serve.envelope import Envelope
from spanwise.serve.measures import Measures
from spanwise.serve.refusals import Refusal, busy, json_response
from spanwise.serve.settings import Settings

PHRASES = {404: ("not_found", "there is no such page."), 405: ("method_not_allowed", "use another method here.")}


def create_app(extractor: Extractor, settings: Settings, name: str = "model") -> FastAPI:
    """The service of one model as an ASGI app."""
    measures = Measures()
    batcher = Batcher(_extract_with(extractor), settings, measures.batch)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        batcher.start()
        yield
        await batcher.stop()

    app = FastAPI(title="spanwise", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    _add_middleware(app, settings, measures)
    _add_handlers(app)
    protected: dict[str, Any] = {"dependencies": [_authorization(settings.token)] if settings.token else []}
    refused = _errors(401) if settings.token else {}
    _add_extraction(app, extractor, settings, batcher, measures, protected, refused)

    @app.get("/v1/schema", **protected, response_model=messages.SchemaResponse, responses=refused)
    async def schema() -> Response:
        """The labels of the model and the limits of the service."""
        limits = {"characters": settings.max_characters, "texts": settings.max_texts, "body": settings.max_body}
        traits = extractor.pipeline.reader.traits
        abilities = {
            "open_labels": traits.open_labels,
            "open_relations": traits.open_relations,
            "predicts_relations": traits.relations,
        }
        about = {"model": name, "limits": limits, "version": __version__}
        return json_response({**about, **extractor.schema.to_dict(), **abilities})

    @app.get("/metrics", **protected, include_in_schema=False)
    async def metrics() -> Response:
        return Response(measures.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")

    _add_health(app, batcher)
    _add_page(app)
    return app


def _add_extraction(
    app: FastAPI,
    extractor: Extractor,
    settings: Settings,
    batcher: Batcher,
    measures: Measures,
    protected: dict[str, Any],
    refused: dict[int | str, dict[str, Any]],
) -> None:
    bodies, request_model = Bodies(settings), messages.request_model(extractor, settings)

    def read(body: bytes) -> tuple[list[Document], Options]:
        asked = parse(body, request_model)
        return bounded(asked.documents(), settings), asked.options()

    @app.post(
        "/v1/extract",
        **protected,
        response_model=messages.ExtractResponse,
        responses={**refused, **_errors(400, 408, 413, 415, 422, 500, 503)},
        openapi_extra=_body(messages.request_schema(request_model), _examples(extractor)),
    )
    async def extract(request: Request) -> Response:
        """Find entities, and relations where the model knows any."""
        try:
            # a large body or answer takes a while: on other threads, so that the loop goes on
            async with bodies.receive(request) as body:
                texts, options = await asyncio.to_thread(read, body)
            request.state.facts |= {"texts": len(texts), "characters": sum(len(text.text) for text in texts)}
            with measures.waiting.track_inprogress():
                documents = await batcher.submit(texts, options)
        except SpanwiseError as error:
            raise Refusal(422, "invalid_request", str(error)) from None
        return await asyncio.to_thread(messages.answer, documents)


def _add_health(app: FastAPI, batcher: Batcher) -> None:
    @app.get("/healthz", response_model=dict[str, str])
    async def healthz() -> Response:
        """Whether the process answers."""
        return json_response({"status": "ok"})

    @app.get("/readyz", response_model=dict[str, str], responses=_errors(503))
    async def readyz() -> Response:
        """Whether a request would be accepted now."""
        if batcher.is_full or not batcher.is_running:
            raise busy("not_ready", "the service takes no requests now; ask again later.")
        return json_response({"status": "ready"})


def _add_page(app: FastAPI) -> None:
    assets = page_assets()

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return _file(assets["index.html"])

    @app.get("/assets/{file}", include_in_schema=False)
    async def asset(file: str) -> Response:
        if file not in assets:
            raise HTTPException(404)
        return _file(assets[file])


def _extract_with(extractor: Extractor) -> Extract:
    def extract(texts: list[Document], options: Options) -> list[Document]:
        if options.given_entities:
            keywords = options.keywords()
            asked = extractor.with_labels(relations=keywords["relations"]) if "relations" in keywords else extractor
            return list(asked.relate(texts, relation_threshold=keywords["relation_threshold"]))
        return extractor(texts, **options.keywords())

    return extract


def _authorization(token: str) -> Any:
    bearer = HTTPBearer(auto_error=False)
    expected = token.encode()

    async def authorize(given: HTTPAuthorizationCredentials | None = Security(bearer)) -> None:  # noqa: B008
        sent = given.credentials.encode("utf-8", "surrogateescape") if given else b""
        if not hmac.compare_digest(sent, expected):
            message = "send the header `Authorization: Bearer TOKEN` with the token of the service."
            raise Refusal(401, "unauthorized", message, {"WWW-Authenticate": "Bearer"})

    authorize.__annotations__["given"] = HTTPAuthorizationCredentials | None
    return Depends(authorize)


def _add_middleware(app: FastAPI, settings: Settings, measures: Measures) -> None:
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-Request-ID"],
        )
    app.add_middleware(Envelope, measures=measures)  # the last one added is the outermost


def _add_handlers(app: FastAPI) -> None:
    async def refuse(request: Request, error: Exception) -> Response:
        refusal = error if isinstance(error, Refusal) else _from_http(error)
        request.scope.get("state", {}).get("facts", {})["code"] = refusal.code
        return refusal.response()

    app.add_exception_handler(Refusal, refuse)
    app.add_exception_handler(HTTPException, refuse)


def _from_http(error: Exception) -> Refusal:
    status, headers = (error.status_code, error.headers) if isinstance(error, HTTPException) else (500, None)
    code, message = PHRASES.get(status, ("bad_request", "the request is malformed."))
    return Refusal(status, code, message, headers)


def _errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": messages.ErrorResponse} for status in statuses}


def _examples(extractor: Extractor) -> dict[str, Any]:
    """Requests that this model takes."""
    examples = {
        "one text": {"text": "Mara Ostrow joined the University of Brenford."},
        "several texts": {"texts": ["Mara Ostrow lives in Brenford.", "It rained."], "threshold": 0.5},
        "words": {"words": ["Mara", "met", "Bo", "."]},
    }
    if extractor.pipeline.reader.traits.open_labels:
        examples["other labels"] = {"text": "Mara met Bo.", "labels": {"Person": "A human being."}}
    return {name: {"value": value} for name, value in examples.items()}


def _body(schema: dict[str, Any], examples: dict[str, Any]) -> dict[str, Any]:
    content = {"application/json": {"schema": schema, "examples": examples}}
    return {"requestBody": {"required": True, "content": content}}


def _file(asset: Asset) -> Response:
    return Response(asset.content, headers={"Content-Type": asset.type, "Cache-Control": "no-cache"})
