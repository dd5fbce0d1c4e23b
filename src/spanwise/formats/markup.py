"""Text in SGML or XML markup: the text without tags, and where the characters that offsets count stand in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import NamedTuple

from spanwise.document import Offsets
from spanwise.errors import FormatError
from spanwise.formats.reading import Line
from spanwise.formats.writing import BOM
from spanwise.formats.xml_tree import read_bytes

MAX_SOURCE = 4 * 2**20
_MARK = re.compile(r"(?P<tag></?[A-Za-z!?][^<>]*>)|&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,7});")
_TAG_NAME = re.compile(r"</?([A-Za-z0-9_]+)")


class _Piece(NamedTuple):
    """A stretch of text: the characters that offsets count, half-open, and where it begins in the plain text."""

    start: int
    end: int
    at: int
    length: int  # in the plain text: less than the stretch for a reference such as &amp;


class Plain(NamedTuple):
    """A text without its tags and with its character references decoded. `tags` are the places of its tags."""

    text: str
    pieces: tuple[_Piece, ...]
    tags: tuple[tuple[int, str], ...]

    def place(self, start: int, end: int) -> Offsets | None:
        """Where counted characters stand in the text; None if they begin or end in a tag or inside a reference."""
        first, last = self._piece(start), self._piece(end - 1)
        if first is None or last is None or start >= end:
            return None
        begin, stop = _inside(first, start, begins=True), _inside(last, end, begins=False)
        return None if begin is None or stop is None else Offsets(begin, stop)

    def cuts_reference(self, start: int, end: int) -> bool:
        """Whether counted characters begin or end inside a reference such as `&amp;`, and neither in a tag."""
        return None not in (self._piece(start), self._piece(end - 1)) and self.place(start, end) is None

    def _piece(self, counted: int) -> _Piece | None:
        index = bisect_right(self.pieces, counted, key=lambda piece: piece.start) - 1
        return self.pieces[index] if index >= 0 and counted < self.pieces[index].end else None

    def element(self, name: str) -> Offsets | None:
        """The text between the first opening and the last closing tag of this name."""
        opened = [at for at, tag in self.tags if tag == name]
        closed = [at for at, tag in self.tags if tag == f"/{name}"]
        return Offsets(opened[0], closed[-1]) if opened and closed and opened[0] <= closed[-1] else None


def _inside(piece: _Piece, counted: int, begins: bool) -> int | None:
    if piece.end - piece.start == piece.length:
        return piece.at + counted - piece.start
    if counted != (piece.start if begins else piece.end):
        return None
    return piece.at if begins else piece.at + piece.length


def plain(source: str, *, count_tags: bool, count_references: bool) -> Plain:
    """The text of a source. Offsets count tags or not, and `&amp;` as five characters or as one."""
    texts, pieces, tags, counted, at = [], [], [], 0, 0
    for written, tag, decoded in _parts(source):
        length = len(written) if (count_tags if tag else count_references or decoded == written) else len(decoded)
        if tag:
            tags.append((at, tag))
        else:
            texts.append(decoded)
            pieces.append(_Piece(counted, counted + length, at, len(decoded)))
            at += len(decoded)
        counted += length
    return Plain("".join(texts), tuple(pieces), tuple(tags))


def _parts(source: str) -> Iterator[tuple[str, str, str]]:
    """Stretches of a source as they are written, the name of those that are tags, and what they stand for."""
    cursor = 0
    for match in _MARK.finditer(source):
        if match.start() > cursor:
            yield source[cursor : match.start()], "", source[cursor : match.start()]
        if match["tag"]:
            yield match[0], _tag_name(match[0]), ""
        else:
            yield match[0], "", unescape(match[0]) or match[0]
        cursor = match.end()
    if cursor < len(source):
        yield source[cursor:], "", source[cursor:]


def _tag_name(tag: str) -> str:
    """The name of a tag in upper case, with a slash if it closes; a question mark for anything else."""
    name = _TAG_NAME.match(tag)
    return ("/" if tag.startswith("</") else "") + name[1].upper() if name else "?"


def flat(text: str) -> str:
    """A text to compare: with its references decoded, and every stretch of space as one."""
    return " ".join(unescape(text).split())


def read_source(path: Path) -> str:
    """A source as it is written, in UTF-8, without a byte order mark."""
    raw = read_bytes(path, MAX_SOURCE)
    try:
        lines = (Line(number, line).decode() for number, line in enumerate(raw.split(b"\n"), 1))
        return "\n".join(lines).removeprefix(BOM)
    except FormatError as error:
        raise FormatError(error.reason, path, error.line) from None


def line_end_variants(source: str) -> list[str]:
    """The source with line feeds alone, and as it is written where that differs."""
    return [source.replace("\r\n", "\n"), source] if "\r\n" in source else [source]
