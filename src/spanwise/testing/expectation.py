"""The error of a failed check."""

from __future__ import annotations


class ConformanceError(AssertionError):
    """A model violates the contract for models."""


def expect(holds: object, problem: str) -> None:
    """Raise a ConformanceError with this message unless `holds` is true."""
    if not holds:
        raise ConformanceError(problem)
