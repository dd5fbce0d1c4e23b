"""What `/metrics` reports."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"


class Measures:
    """Counters of one process, or of all workers where prometheus_client shares them in a folder."""

    def __init__(self) -> None:
        own = self.registry = CollectorRegistry()
        self.requests = Counter("spanwise_requests", "Answers.", ["route", "status"], registry=own)
        self.seconds = Histogram("spanwise_request_seconds", "Time to an answer.", ["route"], registry=own)
        self.texts = Counter("spanwise_texts", "Texts that were read.", registry=own)
        self.batch_texts = Histogram(
            "spanwise_batch_texts", "Texts of a micro-batch.", buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256), registry=own
        )
        self.batch_seconds = Histogram("spanwise_batch_seconds", "Time of a micro-batch.", registry=own)
        self.waiting = Gauge("spanwise_waiting", "Requests without answer.", registry=own, multiprocess_mode="livesum")

    def batch(self, texts: int, seconds: float) -> None:
        self.texts.inc(texts)
        self.batch_texts.observe(texts)
        self.batch_seconds.observe(seconds)

    def answer(self, route: str, status: int, seconds: float) -> None:
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def exposition(self) -> bytes:
        if os.environ.get(MULTIPROCESS):
            shared = CollectorRegistry()
            MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
            return generate_latest(shared)
        return generate_latest(self.registry)
