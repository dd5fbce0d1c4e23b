"""The command line, called as a user would, in this process."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import NamedTuple

import pytest

from spanwise.cli import main


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def refusal(self) -> str:
        """The one sentence of a command that refused its input: on standard error, with nothing on standard output."""
        assert (self.code, self.out) == (2, ""), self
        assert "Traceback" not in self.err
        *before, last = self.err.splitlines()
        assert before == [], self.err
        assert last.startswith("error: ")
        return last.removeprefix("error: ")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """command("train", recipe, "--out", folder, stdin=b""): exit code and what was printed."""
    monkeypatch.setenv("SPANWISE_DEBUG", "")  # and what --debug sets is forgotten after the test

    def call(*arguments: object, stdin: bytes = b"") -> Done:
        monkeypatch.setattr("sys.argv", ["spanwise", *map(str, arguments)])
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)), encoding="utf-8"))
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        return Done(code, *capsys.readouterr())

    return call
