"""Batch extraction on Ray Data: a task reads and cuts the input, actors with a model each annotate the parts."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from spanwise import runtime
from spanwise.document import Document
from spanwise.errors import InputError, SpanwiseError
from spanwise.formats.extras import optional_module
from spanwise.inference.batch.parts import Finished, Head, Part, Result, cut, unfinished
from spanwise.inference.batch.prediction import Extraction, Predictor
from spanwise.inference.batch.source import Source
from spanwise.inference.batch.workers import IN_FLIGHT, MAX_DEATHS, threads_per_worker

OBJECT_STORE = 256 * 2**20  # bytes for parts on their way, in a Ray that is started here
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # else Ray replaces 127.0.0.1 and listens on all addresses
_ROW_BYTES = 1  # a block is cut after so many: every part is a block, and so a task, of its own


@dataclass
class RayEngine:
    """Actors on the cluster that RAY_ADDRESS names, else on this machine alone."""

    extraction: Extraction
    workers: int = 1
    threads: int | None = None

    def results(self, source: Source, finished: Finished) -> Generator[Result, None, None]:
        """The unfinished parts with their documents annotated, as they are finished."""
        threads = threads_per_worker(self.workers, self.threads)
        with session(self.workers * (threads or 1)) as (ray, data), _settings(data):
            yield from self._results(ray, data, source.resolved(), finished, threads)

    def _results(
        self, ray: Any, data: Any, source: Source, finished: Finished, threads: int | None
    ) -> Iterator[Result]:
        attempts = ray.remote(num_cpus=0)(_Attempts).remote()
        parts = data.read_datasource(_datasource(data, source, finished), override_num_blocks=1)
        annotated = parts.map_batches(
            _Annotator,
            fn_constructor_args=(self.extraction.resolved(), threads, attempts),
            batch_size=1,
            batch_format="pyarrow",
            compute=data.ActorPoolStrategy(size=self.workers, max_tasks_in_flight_per_actor=IN_FLIGHT),
            num_cpus=threads or 1,
            num_gpus=1 if self.extraction.device.startswith("cuda") else 0,  # else Ray hides it from the actor
        )
        for batch in annotated.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=1):
            for row in batch.to_pylist():
                yield _result(row)


class _Attempts:
    """Counts how often a part was begun, so that one that kills its workers does not do so for ever."""

    def __init__(self) -> None:
        self.begun: dict[int, int] = {}

    def begin(self, number: int) -> int:
        self.begun[number] = self.begun.get(number, 0) + 1
        return self.begun[number]


class _Annotator:
    """An actor. An error that a user can mend goes back as a row: Ray would wrap it."""

    def __init__(self, extraction: Extraction, threads: int | None, attempts: Any) -> None:
        import ray

        self.get, self.attempts = ray.get, attempts
        self.predictor: Predictor | SpanwiseError
        try:
            self.predictor = Predictor(extraction, threads)
        except SpanwiseError as error:
            self.predictor = error

    def __call__(self, batch: Any) -> Any:
        (row,) = batch.to_pylist()
        if row["failed"]:
            return batch
        try:
            return _table(row["head"], self._annotated(row))
        except SpanwiseError as error:
            return _failure(error)

    def _annotated(self, row: dict[str, Any]) -> bytes:
        if isinstance(self.predictor, SpanwiseError):
            raise self.predictor
        part = Part(Head.from_line(row["head"]), tuple(map(Document.from_dict, json.loads(row["content"]))))
        if self.get(self.attempts.begin.remote(part.head.number)) > MAX_DEATHS:
            raise InputError(
                f"{MAX_DEATHS} workers died at part {part.head.number}; if memory was short, use a smaller --part-size."
            )
        return self.predictor.result(part).lines


def _datasource(data: Any, source: Source, finished: Finished) -> Any:
    """One task that reads the input in order; Ray stops it while the actors are busy."""

    class Parts(data.Datasource):  # type: ignore[misc]
        def estimate_inmemory_data_size(self) -> int | None:
            return None

        def get_read_tasks(self, parallelism: int, *_: object, **__: object) -> list[Any]:
            unknown = data.block.BlockMetadata(num_rows=None, size_bytes=None, exec_stats=None, input_files=None)
            return [data.ReadTask(partial(_read, source, finished), unknown)]

    return Parts()


def _read(source: Source, finished: Finished) -> Iterator[Any]:
    try:
        for part in unfinished(cut(source), finished):
            yield _table(part.head.to_line(), _to_json([document.to_dict() for document in part.documents]))
    except (SpanwiseError, OSError) as error:
        yield _failure(error)


def _table(head: bytes, content: bytes, failed: bool = False) -> Any:
    """One row: a part, its result, or an error. All three have the same columns."""
    import pyarrow

    return pyarrow.table({
        "head": pyarrow.array([head], pyarrow.large_binary()),
        "content": pyarrow.array([content], pyarrow.large_binary()),
        "failed": [failed],
    })  # fmt: skip


def _failure(error: Exception) -> Any:
    is_file = isinstance(error, OSError) and error.filename is not None
    sentence = f"{error.filename}: {error.strerror}." if is_file else str(error)  # type: ignore[attr-defined]
    return _table(b"", _to_json(sentence), failed=True)


def _to_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _result(row: dict[str, Any]) -> Result:
    if row["failed"]:
        raise InputError(json.loads(row["content"]))
    return Result(Head.from_line(row["head"]), row["content"])


@contextmanager
def session(cpus: int) -> Iterator[tuple[Any, Any]]:
    """Ray and Ray Data, in the session of the caller, on the cluster of RAY_ADDRESS, or on this machine alone."""
    alone = "RAY_ADDRESS" not in os.environ
    for name, value in (_QUIET | _LOOPBACK if alone else _QUIET).items():
        os.environ.setdefault(name, value)
    ray = optional_module("ray", "ray", "--engine ray")
    data = optional_module("ray.data", "ray", "--engine ray")
    if ray.is_initialized():
        yield ray, data
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if alone:
        reserved = max(cpus + 1, runtime.available_cores())  # the task that reads takes one for itself
        options |= {"num_cpus": reserved, "object_store_memory": OBJECT_STORE}
        options |= {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    with _silent():
        ray.init(**options)
    try:
        yield ray, data
    finally:
        ray.shutdown()


@contextmanager
def _silent() -> Iterator[None]:
    """Drop what Ray's own code, below Python, writes to standard error, such as the log level it was given."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def _settings(data: Any) -> Iterator[None]:
    """Small blocks and no output of Ray's own, for this run."""
    context, log = data.DataContext.get_current(), logging.getLogger("ray.data")
    changes = {"enable_progress_bars": False, "target_max_block_size": _ROW_BYTES, "target_min_block_size": 1}
    before, level = {name: getattr(context, name) for name in changes}, log.level
    try:
        for name, value in changes.items():
            setattr(context, name, value)
        log.setLevel(logging.ERROR)
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)
        log.setLevel(level)
