"""MSRA NER (SIGHAN 2006) with a sentence per line, as words with tags: `我/o 去/o 北京/ns`. Characters are the words.

The other common layout, a character and its tag per line, is the format `conll`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import partial

from spanwise.document import Document
from spanwise.errors import FormatError
from spanwise.formats.base import Format, Probe
from spanwise.formats.chinese import as_characters
from spanwise.formats.fields import short_repr
from spanwise.formats.reading import HEAD, Line, Reader
from spanwise.formats.tokens import WordSpan

_TOKEN = re.compile(r"(?P<word>.+)/(?P<tag>[A-Za-z]+)")
_MARKED = re.compile(r"\S+/(?:o|nr|ns|nt)", re.IGNORECASE)
_OUTSIDE = "o"
_ROWS = 100


def _matches(probe: Probe) -> bool:
    rows = [line.split(" ") for line in probe.lines if line.strip()][:_ROWS]
    tokens = [token for row in rows for token in row if token.strip()]
    return bool(tokens) and all(_MARKED.fullmatch(token.strip()) for token in tokens)


def _encoding(reader: Reader) -> str:
    """UTF-8, or GB 18030 where the file is not: the distribution has both."""
    with reader.open() as stream:
        head = stream.read(HEAD)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "gb18030"
    return "utf-8"


def _parse(line: Line, encoding: str) -> Iterator[Document]:
    words: list[str] = []
    spans: list[WordSpan] = []
    for token in _decoded(line, encoding).split(" "):
        if not token.strip():
            continue
        match = _TOKEN.fullmatch(token.strip("\t"))
        if match is None:
            raise FormatError(f"{short_repr(token)} is not a word and its tag, such as 北京/ns; correct it.")
        words.append(match["word"])
        if match["tag"].lower() != _OUTSIDE:
            spans.append(WordSpan(len(words) - 1, len(words), match["tag"].upper()))
    characters, over = as_characters(words, spans)
    yield Document.from_words(characters, over, joiner="")


def _decoded(line: Line, encoding: str) -> str:
    if encoding == "utf-8":
        return line.decode()
    try:
        return line.raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise FormatError(
            f"byte 0x{line.raw[error.start]:02x} is neither UTF-8 nor GB 18030; convert the file."
        ) from None


def _read(reader: Reader) -> Iterator[Document]:
    encoding = _encoding(reader)
    if encoding != "utf-8":
        reader.note("encoding GB 18030 (detected)")
    lines = ((line.number, line) for line in reader.lines() if line.raw.strip())
    yield from reader.documents(lines, partial(_parse, encoding=encoding))


MSRA = Format(
    name="msra",
    matches=_matches,
    read=_read,
    write=None,
    needs_words=True,
    example="我/o 去/o 北京/ns",
)
