"""The elements of a JSON array of any length, read in chunks: only the current element is in memory."""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, NoReturn

from spanwise.errors import FormatError

_CHUNK = 2**20
_SPACE = " \t\r\n"
_NUMBER = "+-.0123456789Ee"
_TAIL = 12  # the longest piece that can be cut at the end of a chunk: an escaped surrogate pair


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


class RepeatedKey(NamedTuple):
    """Stands for a value in which an object gives this key twice: `json` would keep the last without a word."""

    key: str


class KeyCheck:
    """Builds objects from their pairs and remembers a key that was given twice."""

    repeated: RepeatedKey | None = None

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            self.repeated = RepeatedKey(Counter(key for key, _ in pairs).most_common(1)[0][0])
        return value


class _Text:
    """The decoded text of a stream around a cursor, and the line the cursor is on."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream, self._limit = stream, limit
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.buffer, self.cursor, self.line, self.ended = "", 0, 1, False

    def grow(self) -> bool:
        """Read on, as much again as is held, and forget what lies behind the cursor."""
        if self.ended:
            return False
        held = self.buffer[self.cursor :]
        if len(held) > self._limit:
            raise self.error(f"a record is longer than {self._limit // 2**20} MB; split it into documents")
        raw = self._stream.read(max(_CHUNK, len(held)))
        self.ended = not raw
        try:
            fresh = self._decoder.decode(raw, final=self.ended)
        except UnicodeDecodeError as error:
            self.line += held.count("\n") + error.object[: error.start].count(b"\n")
            raise self.error(
                f"byte 0x{error.object[error.start]:02x} is not UTF-8; convert the file first, for example with "
                f"`iconv -f latin1 -t utf-8`"
            ) from None
        self.buffer, self.cursor = held + fresh, 0
        return not self.ended or bool(fresh)

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            while self.cursor < len(self.buffer) and self.buffer[self.cursor] in _SPACE:
                self.line += self.buffer[self.cursor] == "\n"
                self.cursor += 1
            if self.cursor < len(self.buffer):
                return self.buffer[self.cursor]
            if not self.grow():
                return ""

    def advance(self, end: int) -> None:
        self.line += self.buffer.count("\n", self.cursor, end)
        self.cursor = end

    def error(self, reason: str) -> FormatError:
        return FormatError(f"{reason}.", line=self.line)


def elements(stream: BinaryIO, limit: int) -> Iterator[tuple[int, Any]]:
    """Each element, or the key that it gives twice, with the line it starts on.

    Broken JSON ends the iteration: the next record cannot be found.
    """
    text = _Text(stream, limit)
    if not text.peek():
        return
    if text.peek() != "[":
        raise text.error(f"the file should be a JSON array, but starts with {text.peek()!r}")
    text.advance(text.cursor + 1)
    if text.peek() == "]":
        text.advance(text.cursor + 1)
    else:
        while True:
            text.peek()
            line = text.line
            yield line, _element(text)
            mark = text.peek()
            if mark not in {",", "]"}:
                problem = f"found {mark!r}" if mark else "the file ends"
                raise text.error(
                    f"{problem} where ',' or ']' should follow a record; the array is damaged or truncated"
                )
            text.advance(text.cursor + 1)
            if mark == "]":
                break
    if rest := text.peek():
        raise text.error(f"{rest!r} follows the end of the array; keep one array per file")


def _element(text: _Text) -> Any:
    while True:
        keys = KeyCheck()
        decoder = json.JSONDecoder(parse_constant=refuse_constant, object_pairs_hook=keys)
        try:
            value, end = decoder.raw_decode(text.buffer, text.cursor)
        except RecursionError:
            raise text.error("the JSON is nested too deeply; flatten the record") from None
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated string") or error.pos >= len(text.buffer) - _TAIL
            if cut and text.grow():
                continue
            text.advance(min(error.pos, len(text.buffer)))
            raise text.error(
                f"the JSON is broken ({error.msg}), so what follows cannot be read; repair the file"
            ) from None
        except ValueError as error:
            raise text.error(f"the JSON is broken ({error}); repair the file") from None
        may_go_on = end == len(text.buffer) or text.buffer[end] in _NUMBER
        if not may_go_on or not text.grow():
            text.advance(end)
            return keys.repeated or value
