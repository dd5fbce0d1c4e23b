"""An engine that needs no model."""

from __future__ import annotations

from collections.abc import Generator

from spanwise.formats.jsonl import encode
from spanwise.inference.batch.parts import Finished, Result, cut, unfinished
from spanwise.inference.batch.source import Source


class Crash(Exception):  # noqa: N818
    """What ends a run in the middle."""


class EchoEngine:
    """Gives the documents back as they are; fails after some parts if it is told to."""

    def __init__(self, parts_before_crash: int | None = None) -> None:
        self.parts_before_crash = parts_before_crash
        self.done: list[int] = []

    def results(self, source: Source, finished: Finished) -> Generator[Result, None, None]:
        for part in unfinished(cut(source), finished):
            if len(self.done) == self.parts_before_crash:
                raise Crash
            yield Result(part.head, "".join(map(encode, part.documents)).encode())
            self.done.append(part.head.number)
