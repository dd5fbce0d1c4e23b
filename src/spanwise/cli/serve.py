"""`spanwise serve`: a model behind HTTP, with a page."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from spanwise.cli.app import app
from spanwise.errors import InputError
from spanwise.serve.settings import Settings, read_token

DEFAULTS = Settings()


@app.command()
def serve(
    model: Annotated[str, typer.Argument(help="A model folder, or OWNER/NAME on the hub.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = DEFAULTS.host,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = DEFAULTS.port,
    workers: Annotated[int, typer.Option(min=1, help="Processes, each with the model.")] = DEFAULTS.workers,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the bearer token; default: the variable SPANWISE_TOKEN.")
    ] = None,
    cors_origin: Annotated[list[str] | None, typer.Option(help="Origin of pages that may call the service.")] = None,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of a request.")] = DEFAULTS.max_body,
    max_texts: Annotated[int, typer.Option(min=1, help="Texts of a request.")] = DEFAULTS.max_texts,
    max_characters: Annotated[int, typer.Option(min=1, help="Characters of a text.")] = DEFAULTS.max_characters,
    min_threshold: Annotated[
        float, typer.Option(min=0, max=1, help="Lowest threshold that a request may ask for.")
    ] = DEFAULTS.min_threshold,
    max_queue: Annotated[int, typer.Option(min=1, help="Requests that wait.")] = DEFAULTS.max_queue,
    timeout: Annotated[float, typer.Option(min=0.01, help="Seconds to an answer.")] = DEFAULTS.timeout,
    receive_timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds until a request has arrived.")
    ] = DEFAULTS.receive_timeout,
    send_timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds that an answer may stay unread.")
    ] = DEFAULTS.send_timeout,
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads of a process.")] = None,
) -> None:
    """Serve a model: POST /v1/extract, GET /v1/schema, and a page at /.

    Example: spanwise serve runs/mine --port 8000
    """
    try:
        from spanwise.serve import api, server
        from spanwise.serve import workers as processes
        from spanwise.serve.logs import configure
    except ModuleNotFoundError as error:
        raise InputError(f"serve needs {error.name}; run `pip install 'spanwise[serve]'`.") from None
    settings = Settings(
        host=host,
        port=port,
        workers=workers,
        token=read_token(token_file, os.environ),
        cors_origins=tuple(cors_origin or ()),
        max_body=max_body,
        max_texts=max_texts,
        max_characters=max_characters,
        min_threshold=min_threshold,
        max_queue=max_queue,
        timeout=timeout,
        receive_timeout=receive_timeout,
        send_timeout=send_timeout,
    )
    configure()
    inherited = processes.inherited_socket()
    bound = inherited or server.bind(settings)
    if workers > 1 and inherited is None:
        processes.supervise(settings, bound, [sys.executable, "-m", "spanwise", *sys.argv[1:]])
        return
    from spanwise.inference.extractor import Extractor

    extractor = Extractor.from_pretrained(model, threads=threads)
    server.run(api.create_app(extractor, settings, Path(model).resolve().name), settings, bound)
