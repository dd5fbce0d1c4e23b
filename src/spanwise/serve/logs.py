"""Structured logs: one JSON object a line. They never contain a text, a label or a token."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from typing import Any

log = logging.getLogger("spanwise.serve")


class JsonFormatter(logging.Formatter):
    """Fields of our own events; of other loggers the first line without its arguments, since the rest may quote."""

    def format(self, record: logging.LogRecord) -> str:
        row: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "event": record.msg.partition("\n")[0] if isinstance(record.msg, str) else type(record.msg).__name__,
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            row |= described(record.exc_info[1])
        return json.dumps(row)


def described(error: BaseException) -> dict[str, Any]:
    """The type and the places of an error, without its message."""
    frames = traceback.extract_tb(error.__traceback__)
    return {"error": type(error).__name__, "trace": [f"{f.filename}:{f.lineno} {f.name}" for f in frames[-8:]]}


def event(name: str, level: int = logging.INFO, **fields: Any) -> None:
    log.log(level, name, extra={"fields": fields})


def configure() -> None:
    """Send the logs of this package and of uvicorn to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name, level in (("spanwise", logging.INFO), ("uvicorn", logging.WARNING), ("asyncio", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
