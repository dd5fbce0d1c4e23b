"""Worker processes on this machine: each has its own model, and one that dies is replaced."""

from __future__ import annotations

import os
import signal
import traceback
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from types import TracebackType

from spanwise import runtime
from spanwise.errors import InputError
from spanwise.inference.batch.parts import Part, Result
from spanwise.inference.batch.prediction import Extraction, Predictor
from spanwise.plural import counted

IN_FLIGHT = 2  # parts of a worker: one that it works on, and one that waits
MAX_DEATHS = 3  # of workers at the same part


def threads_per_worker(workers: int, threads: int | None) -> int | None:
    """The threads of each worker; None means that SPANWISE_THREADS decides."""
    if threads is not None or runtime.THREADS_VARIABLE in os.environ:
        return threads
    return max(1, runtime.available_cores() // workers)


class Pool:
    """A fixed number of workers. No more parts are read than the workers hold."""

    def __init__(self, extraction: Extraction, workers: int, threads: int | None) -> None:
        self.extraction, self.threads = extraction, threads
        self.deaths: Counter[int] = Counter()  # by the number of the part
        self.returned: deque[Part] = deque()  # from workers that died
        self.workers = [_Worker(extraction, threads) for _ in range(workers)]

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        for worker in self.workers:
            worker.end()

    def results(self, parts: Iterator[Part]) -> Iterator[Result]:
        """The parts with their documents annotated, as they are finished."""
        while True:
            self._hand_out(parts)
            busy = {worker.pipe: worker for worker in self.workers if worker.parts}
            if not busy:
                return
            for pipe in connection.wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                result = worker.receive()
                if result is None:
                    self._replace(worker)
                else:
                    yield result

    def _hand_out(self, parts: Iterator[Part]) -> None:
        """Fill the workers up, those first that have nothing to do."""
        for held in range(IN_FLIGHT):
            for worker in self.workers:
                if len(worker.parts) == held:
                    part = self.returned.popleft() if self.returned else next(parts, None)
                    if part is None:
                        return
                    worker.send(part)

    def _replace(self, worker: _Worker) -> None:
        """Start another worker and give the parts of this one out again."""
        worker.end()
        first = worker.parts[0].head
        self.deaths[first.number] += 1
        if self.deaths[first.number] == MAX_DEATHS:
            documents = counted(first.documents, "document")
            raise InputError(
                f"{MAX_DEATHS} workers died at part {first.number} ({documents}), the last with exit code "
                f"{worker.process.exitcode}; if memory was short, use fewer --workers or a smaller --part-size."
            )
        self.returned.extend(worker.parts)
        self.workers[self.workers.index(worker)] = _Worker(self.extraction, self.threads)


class _Worker:
    """A process, and the parts that it was given and has not finished."""

    def __init__(self, extraction: Extraction, threads: int | None) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.parts: deque[Part] = deque()
        self.process = context.Process(target=_work, args=(theirs, extraction, threads), daemon=True)
        self.process.start()
        theirs.close()

    def send(self, part: Part) -> None:
        self.parts.append(part)
        with suppress(ConnectionError):  # it has died, which `receive` finds out
            self.pipe.send(part)

    def receive(self) -> Result | None:
        """The next result, or None if the process has died; an error that it met is raised here."""
        try:
            answer = self.pipe.recv()
        except (EOFError, OSError):
            return None
        if isinstance(answer, Exception):
            raise answer
        return Result(self.parts.popleft().head, answer)

    def end(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


def _work(pipe: Connection, extraction: Extraction, threads: int | None) -> None:
    """Annotate parts until the pipe is closed. An error goes back over the pipe and ends the work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends its workers
    parts: SimpleQueue[Part] = SimpleQueue()
    Thread(target=_receive, args=(pipe, parts), daemon=True).start()
    try:
        predictor = Predictor(extraction, threads)
        while True:
            pipe.send(predictor.result(parts.get()).lines)
    except Exception as error:
        error.add_note(traceback.format_exc())
        pipe.send(error)
        parts.get()  # nothing more is done: wait for the end


def _receive(pipe: Connection, parts: SimpleQueue[Part]) -> None:
    """Take parts in at any time: if both ends only sent, they would wait for each other. Without a parent, end."""
    while True:
        try:
            parts.put(pipe.recv())
        except (EOFError, OSError):
            os._exit(0)
