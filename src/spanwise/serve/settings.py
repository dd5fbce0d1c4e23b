"""Every setting of the service with its default. The command line and the docs name no other defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spanwise.errors import InputError

TOKEN_VARIABLE = "SPANWISE_TOKEN"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes are in bytes or characters, times in seconds."""

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    token: str | None = field(default=None, repr=False)
    cors_origins: tuple[str, ...] = ()

    max_body: int = 2_000_000  # bytes of one request
    max_bodies: int = 64_000_000  # bytes of all requests that are being received
    max_texts: int = 256  # texts of one request
    max_characters: int = 100_000  # characters of one text
    max_entities: int = 256  # entities that a request gives; relations are sought between all pairs
    min_threshold: float = 0.01  # a lower one can make every span an entity, and every pair a candidate
    max_labels: int = 64  # labels of one request, for a model with open labels
    max_label_characters: int = 1_000  # characters of a label, and of its description

    max_queue: int = 512  # requests that wait
    max_queue_characters: int = 8_000_000  # characters of the requests that wait
    timeout: float = 30.0  # from the end of a request to its answer
    batch_characters: int = 16_384  # characters of a micro-batch; a longer text is one of its own
    batch_wait: float = 0.002  # how long a request waits for others when the model is idle

    max_connections: int = 4_000
    max_header: int = 32_768  # bytes of a request line and its headers
    receive_timeout: float = 20.0  # until a request has arrived whole, from the connection or its first byte
    send_timeout: float = 20.0  # how long a client may leave an answer unread
    keep_alive: float = 20.0  # how long a connection may be idle between requests
    shutdown_timeout: float = 60.0  # for the requests that were accepted before the signal

    def __post_init__(self) -> None:
        if self.token is not None and not (self.token and self.token.isascii() and self.token.isprintable()):
            raise InputError("the token is empty or has a character that is not printable ASCII; choose another.")
        if self.token and " " in self.token:
            raise InputError("the token has a space; choose another.")


def read_token(file: Path | None, environment: Mapping[str, str]) -> str | None:
    """The token of the file, else of the environment, else none."""
    if file is not None:
        return file.read_text(encoding="utf-8").strip()
    return environment.get(TOKEN_VARIABLE)
