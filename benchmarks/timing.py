"""What the measurements of speed share."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds(task: Callable[[], object]) -> float:
    began = time.perf_counter()
    task()
    return time.perf_counter() - began
