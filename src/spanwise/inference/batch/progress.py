"""How far a batch is, and how long it will still take."""

from __future__ import annotations

import time
from collections.abc import Iterable

from spanwise.inference.batch.parts import Head
from spanwise.plural import counted


class Progress:
    """Counts finished parts. Time left is judged by this run alone, not by the parts of an earlier one."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.documents, self.share, self.share_before = 0, 0.0, 0.0
        self.known = True  # whether the share of every part is known

    def add(self, heads: Iterable[Head]) -> None:
        for head in heads:
            self.documents += head.documents
            self.share = min(1.0, self.share + (head.share or 0.0))
            self.known = self.known and head.share is not None

    def resume(self, heads: Iterable[Head]) -> None:
        """Count the parts of an earlier run."""
        self.add(heads)
        self.share_before, self.began = self.share, time.monotonic()

    def seconds_left(self) -> float | None:
        done = self.share - self.share_before
        if not self.known or done <= 0:
            return None
        return (time.monotonic() - self.began) * (1 - self.share) / done

    def sentence(self) -> str:
        left = self.seconds_left()
        share = f", {self.share:.0%}" if self.known else ""
        return counted(self.documents, "document") + share + (f", {_duration(left)} left" if left is not None else "")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
