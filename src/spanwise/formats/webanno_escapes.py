"""How WebAnno TSV 3 escapes texts and values, and stacks values in a cell."""

from __future__ import annotations

import re

_ESCAPED = re.compile(r"(?:\\u[0-9A-Fa-f]{4})+|\\->|\\.", re.DOTALL)
_RESERVED = re.compile(r"->|[\\\[\]|_;*\t\n\r]")
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
_LETTERS = {control: letter for letter, control in _CONTROL.items()}
_VALUE = re.compile(r"((?:\\.|[^\\\[\]])*)(?:\[([0-9]+)\])?", re.DOTALL)
_STACKED = re.compile(r"(?:\\.|[^\\|])+", re.DOTALL)


def unescape(text: str) -> str:
    """The text that was escaped, as Java escapes it or with a backslash before what is reserved."""
    return _ESCAPED.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    body = match[0][1:]
    if body[0] == "u" and len(body) >= 5:
        return bytes.fromhex(match[0].replace("\\u", "")).decode("utf-16-be", errors="replace")
    return _CONTROL.get(body, body)


def escape(text: str) -> str:
    """A token or a value with a backslash before what is reserved."""
    return _RESERVED.sub(lambda match: f"\\{_LETTERS.get(match[0], match[0])}", text)


def escape_line(text: str) -> str:
    """A line of a sentence: the backslash and control characters are escaped."""
    return re.sub(r"[\\\t\r\b\f]", lambda match: f"\\{_LETTERS.get(match[0], match[0])}", text)


def split_values(cell: str) -> list[str]:
    """The values that are stacked in a cell."""
    return _STACKED.findall(cell)


def parse_value(value: str) -> tuple[str, str]:
    """A value, still escaped, and the id of its annotation; empty if it needs none."""
    found = _VALUE.fullmatch(value)
    return (found[1], found[2] or "") if found else (value, "")
