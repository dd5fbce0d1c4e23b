"""Values out of a JSON record, each refused with its key when it is missing or of another type."""

from __future__ import annotations

import math
import reprlib
from typing import Any, TypeVar

from spanwise.errors import FormatError
from spanwise.plural import counted

T = TypeVar("T", int, str, list, dict)  # type: ignore[type-arg]  # the element types are checked one by one

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
_SHORT.maxlevel = 3
_LONGEST = 300
_NAMES: dict[type, str] = {int: "an integer", str: "a string", list: "an array", dict: "an object"}


def check_type(value: Any, kind: type[T], what: str) -> T:
    """The value, if it has this JSON type; true and false are no integers."""
    if isinstance(value, bool) or not isinstance(value, kind):
        raise FormatError(f"{what} is {short_repr(value)}, but should be {_NAMES[kind]}.")
    if isinstance(value, str) and not value.isascii():
        _check_encodable(value, what)
    return value


def get(record: dict[str, Any], key: str, kind: type[T], default: T | None = None) -> T:
    """The value of a key; null counts as missing."""
    value = record.get(key)
    if value is not None:
        return check_type(value, kind, repr(key))
    if default is None:
        raise FormatError(f"{key!r} is missing in {short_repr(record)}; it should be {_NAMES[kind]}.")
    return default


def objects(record: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """An array of objects; empty when the key is missing."""
    return [check_type(item, dict, f"{key!r}[{i}]") for i, item in enumerate(get(record, key, list, []))]


def arrays(record: dict[str, Any], key: str) -> list[list[Any]]:
    """An array of arrays; empty when the key is missing."""
    return [check_type(item, list, f"{key!r}[{i}]") for i, item in enumerate(get(record, key, list, []))]


def strings(values: list[Any], what: str) -> list[str]:
    return [check_type(value, str, f"{what}[{i}]") for i, value in enumerate(values)]


def row(values: list[Any], kinds: tuple[type, ...], what: str) -> list[Any]:
    """An array that stands for a tuple: so many values, each of its type."""
    if len(values) != len(kinds):
        raise FormatError(f"{what} is {short_repr(values)}, but should hold {counted(len(kinds), 'value')}.")
    return [check_type(value, kind, what) for value, kind in zip(values, kinds, strict=True)]


def score(record: dict[str, Any]) -> float:
    """A finite number; 1.0 when the record has none."""
    value = record.get("score")
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(number := _float(value)):
        raise FormatError(f"'score' is {short_repr(value)}, but should be a finite number.")
    return number


def _float(value: int | float) -> float:
    """The number as a float; infinite where an integer has too many digits for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def identifier(record: dict[str, Any], key: str) -> str:
    """A name; numbers are accepted and written out, a missing one is empty."""
    value = record.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return get(record, key, str, "")


def short_repr(value: Any) -> str:
    """A value, short enough for a message, whatever the file holds."""
    return shorten(_SHORT.repr(value))


def shorten(text: str) -> str:
    """A text without its middle when it is too long for a message."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"


def _check_encodable(value: str, what: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise FormatError(
            f"{what} holds an unpaired surrogate ({value[error.start]!a} at position {error.start}); no text file can "
            f"hold it, so repair the text."
        ) from None
