"""Counts in words: "1 document", "2,000 documents"."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """The number with what it counts; `many` where the plural is more than an s, up to a whole phrase."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
