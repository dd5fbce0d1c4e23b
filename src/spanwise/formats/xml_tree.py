"""XML of annotation files as a tree that knows its lines. Nothing outside the file is opened, nothing in it expands.

A DOCTYPE may name a DTD; the DTD is not opened. A file that declares entities is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from spanwise.errors import FormatError
from spanwise.formats.fields import short_repr

MAX_BYTES = 16 * 2**20
MAX_NODES = 500_000
MAX_DEPTH = 50


@dataclass
class Node:
    """An element: its attributes, the text directly in it, and its children."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Node] = field(default_factory=list)
    text: str = ""

    def all(self, *tags: str) -> Iterator[Node]:
        return (child for child in self.children if child.tag in tags)

    def child(self, tag: str) -> Node:
        """The first child of this tag."""
        found = next(self.all(tag), None)
        if found is None:
            raise FormatError(f"<{self.tag}> has no <{tag}>; the file is damaged.", line=self.line)
        return found

    def get(self, *names: str) -> str:
        """The attribute with the first of these names that is there."""
        for name in names:
            if value := self.attributes.get(name):
                return value
        raise FormatError(f"<{self.tag}> has no attribute {' or '.join(names)}; the file is damaged.", line=self.line)

    def number(self, name: str) -> int:
        value = self.get(name)
        if not value.isascii() or not value.isdigit() or len(value) > 12:
            raise FormatError(f"{name} is {short_repr(value)}, but should be a character offset.", line=self.line)
        return int(value)


def read_xml(path: Path) -> Node:
    """The root of an XML file; a FormatError with its line where it is not well-formed XML."""
    raw = read_bytes(path, MAX_BYTES)
    builder = _Builder()
    try:
        builder.parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise FormatError(
            f"this is not well-formed XML ({expat.ErrorString(error.code)}); repair the file.", path, error.lineno
        ) from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not know
        raise FormatError(f"the XML cannot be decoded ({short_repr(str(error))}); save it as UTF-8.", path) from None
    except FormatError as error:
        raise FormatError(error.reason, path, error.line) from None
    return builder.root.children[0]


def read_bytes(path: Path, limit: int) -> bytes:
    """The content of a file that is not larger than the limit."""
    with path.open("rb") as stream:
        raw = stream.read(limit + 1)
    if len(raw) > limit:
        raise FormatError(f"the file is larger than {limit // 2**20} MB; split it into documents.", path)
    return raw


class _Builder:
    def __init__(self) -> None:
        self.root = Node("", {}, 0)
        self._open = [self.root]
        self._texts: list[list[str]] = [[]]  # of the open elements
        self._nodes = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.EntityDeclHandler = self._refuse
        self.parser.ExternalEntityRefHandler = self._refuse
        self.parser.SkippedEntityHandler = self._refuse

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._nodes += 1
        if len(self._open) > MAX_DEPTH or self._nodes > MAX_NODES:
            raise FormatError(
                f"the XML is nested deeper than {MAX_DEPTH} levels or has more than {MAX_NODES:,} elements; give "
                f"another file.",
                line=self.parser.CurrentLineNumber,
            )
        node = Node(tag, attributes, self.parser.CurrentLineNumber)
        self._open[-1].children.append(node)
        self._open.append(node)
        self._texts.append([])

    def _end(self, tag: str) -> None:
        self._open.pop().text = "".join(self._texts.pop())

    def _data(self, text: str) -> None:
        self._texts[-1].append(text)

    def _refuse(self, *declared: object) -> NoReturn:
        name = next((each for each in declared if isinstance(each, str)), "")
        raise FormatError(
            f"the XML declares or uses the entity {short_repr(name)}, which is never expanded; write its text instead.",
            line=self.parser.CurrentLineNumber,
        )
