"""What a check says when it fails."""

from __future__ import annotations


class ConformanceError(AssertionError):
    """A model breaks the contract that every model keeps."""


def expect(holds: object, problem: str) -> None:
    """Fail with this sentence unless something holds."""
    if not holds:
        raise ConformanceError(problem)
