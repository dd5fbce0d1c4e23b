"""A batch from its input to its output. It can be killed at any moment: the same command goes on where it ended."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Protocol

from spanwise import __version__
from spanwise.document import Document
from spanwise.formats import Report
from spanwise.inference.batch.output import Output
from spanwise.inference.batch.parts import Finished, Result, cut, unfinished
from spanwise.inference.batch.prediction import Extraction, Predictor
from spanwise.inference.batch.progress import Progress
from spanwise.inference.batch.source import Source
from spanwise.inference.batch.store import OnlyPart, Parts, PartStore, documents
from spanwise.inference.batch.workers import Pool, threads_per_worker


class Engine(Protocol):
    """What extracts the parts that are not finished, in any order."""

    def results(self, source: Source, finished: Finished) -> Generator[Result, None, None]: ...


@dataclass
class LocalEngine:
    """This process, or several worker processes on this machine."""

    extraction: Extraction
    workers: int = 1
    threads: int | None = None

    @cached_property
    def predictor(self) -> Predictor:
        return Predictor(self.extraction, threads_per_worker(self.workers, self.threads))

    def results(self, source: Source, finished: Finished) -> Generator[Result, None, None]:
        parts = unfinished(cut(source), finished)
        if self.workers == 1:
            yield from map(self.predictor.result, parts)
            return
        first = next(parts, None)
        if first is None:
            return
        if first.head.last:
            yield self.predictor.result(first)
            return
        with Pool(self.extraction, self.workers, threads_per_worker(self.workers, self.threads)) as pool:
            yield from pool.results(chain([first], parts))


@dataclass
class Batch:
    """An input, a model and an output."""

    source: Source
    extraction: Extraction
    output: Output
    progress: Progress = field(default_factory=Progress)
    watch: Callable[[], None] = lambda: None  # is called when the progress has changed
    store: PartStore = field(init=False)

    def __post_init__(self) -> None:
        identity = {"spanwise": __version__, **self.source.identity(), **self.extraction.identity()}
        self.store = PartStore(self.output.folder(), identity)

    def run(self, engine: Engine, use: Callable[[Iterator[Document]], None] | None = None) -> Report:
        """Extract what is not finished, and write the output. `use` also gets the documents, before the parts go."""
        self.output.check()
        with ExitStack() as stack:
            resumed = self.store.find()
            if resumed:
                stack.enter_context(self.store.opened())
                self.progress.resume(self.store.finished.values())
                self.watch()
            results = stack.enter_context(closing(engine.results(self.source, self.store.checksums())))
            first = next(results, None)
            if first and first.head.is_only and not resumed:
                return self._finish(OnlyPart(first), use)
            if not resumed:
                stack.enter_context(self.store.opened())
            for result in chain([first] if first else [], results):
                self.store.add(result)
                self.progress.add([result.head])
                self.watch()
            self.store.check_complete()
            report = self._finish(self.store, use)
            self.store.remove()
            return report

    def _finish(self, parts: Parts, use: Callable[[Iterator[Document]], None] | None) -> Report:
        report = Report()
        for head in parts.heads():
            report.read += head.documents
            report.dropped.update(head.dropped)
            report.notes.extend(head.notes)
            for record in head.bad:
                report.add_bad(record.error)
        if use:
            use(documents(parts))
        if (name := self.output.write_bad(parts)) is not None:
            report.notes.append(f"bad records are in {name}")
        self.output.write(parts, report)
        return report
