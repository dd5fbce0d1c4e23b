"""Micro-batches: requests that wait at the same time share a call of the model, on one thread.

Texts are taken in rounds. A request with more texts than fit into a round goes on in a later one, behind those that
wait, so that a large request delays a small one by a round at most. A round that fails is repeated request by request,
so that only the request at fault fails.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from spanwise.document import Document
from spanwise.serve.refusals import busy
from spanwise.serve.settings import Settings

Threshold = float | tuple[tuple[str, float], ...] | None


@dataclass(frozen=True, slots=True)
class Options:
    """What a request asks for besides its texts; requests that ask for the same share a batch."""

    labels: tuple[tuple[str, str], ...] | None = None
    threshold: Threshold = None
    relation_threshold: Threshold = None
    given_entities: bool = False  # relations between the entities of the texts, and nothing else
    relations: tuple[tuple[str, str], ...] | None = None

    def keywords(self) -> dict[str, Any]:
        """The arguments of the extractor."""
        values = {"threshold": self.threshold, "relation_threshold": self.relation_threshold, "labels": self.labels}
        if self.relations is not None:
            values["relations"] = self.relations
        return {key: dict(value) if isinstance(value, tuple) else value for key, value in values.items()}


Extract = Callable[[list[Document], Options], Sequence[Document]]


@dataclass(eq=False, slots=True)
class Job:
    """A request: the texts that were not read yet, and the documents of those that were."""

    options: Options
    texts: deque[Document]
    characters: int
    answer: asyncio.Future[list[Document]]
    documents: list[Document] = field(default_factory=list)

    def take(self, budget: int) -> list[Document]:
        """The next texts that fit into the budget."""
        taken: list[Document] = []
        while self.texts and cost(self.texts[0]) <= budget:
            taken.append(self.texts.popleft())
            budget -= cost(taken[-1])
        return taken

    def receive(self, documents: Sequence[Document]) -> None:
        self.documents.extend(documents)
        if not self.texts and not self.answer.done():
            self.answer.set_result(self.documents)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


Round = list[tuple[Job, list[Document]]]


class Batcher:
    """Runs between `start` and `stop`; `observe` hears the texts and the seconds of every round."""

    def __init__(
        self, extract: Extract, settings: Settings, observe: Callable[[int, float], None] = lambda texts, seconds: None
    ) -> None:
        self.extract, self.settings, self.observe = extract, settings, observe
        self.waiting: deque[Job] = deque()
        self.characters = 0  # of all requests without an answer
        self.jobs = 0
        self.task: asyncio.Task[None] | None = None

    @property
    def is_full(self) -> bool:
        return self.jobs >= self.settings.max_queue or self.characters >= self.settings.max_queue_characters

    @property
    def is_running(self) -> bool:
        return self.task is not None and not self.task.done()

    def start(self) -> None:
        """Begin to read, in the event loop that runs now."""
        self.arrived = asyncio.Event()
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="inference")
        self.task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task
        self.thread.shutdown(wait=False, cancel_futures=True)

    async def submit(self, texts: Sequence[Document], options: Options) -> list[Document]:
        """The documents of the texts, in order; a refusal if too many wait or the time is over."""
        characters = sum(map(cost, texts))
        if self.is_full or self.characters + characters > max(self.settings.max_queue_characters, characters):
            raise busy("queue_full", "too many requests are waiting; repeat the request later.")
        if not texts:
            return []
        job = Job(options, deque(texts), characters, asyncio.get_running_loop().create_future())
        self.jobs += 1
        self.characters += characters
        self.waiting.append(job)
        self.arrived.set()
        try:
            async with asyncio.timeout(self.settings.timeout):
                return await job.answer
        except TimeoutError:
            raise busy("timeout", f"no answer within {self.settings.timeout:g} seconds; send fewer texts.") from None
        finally:
            self.jobs -= 1
            self.characters -= characters

    async def _run(self) -> None:
        while True:
            await self.arrived.wait()
            if sum(job.characters for job in self.waiting) < self.settings.batch_characters:
                await asyncio.sleep(self.settings.batch_wait)
            if chosen := self._next_round():
                await self._answer(chosen)
            if not self.waiting:
                self.arrived.clear()

    def _next_round(self) -> Round:
        """Texts of those requests that ask for the same as the first; at least one text, however long."""
        chosen: Round = []
        budget = self.settings.batch_characters
        later: deque[Job] = deque()
        unfinished: list[Job] = []
        while self.waiting:
            job = self.waiting.popleft()
            if job.answer.done():  # its time is over, or its client has gone
                continue
            if budget <= 0 or (chosen and job.options != chosen[0][0].options):
                later.append(job)
                continue
            texts = job.take(budget)
            if not texts and not chosen:
                texts = [job.texts.popleft()]
            if not texts:
                later.append(job)
                continue
            budget -= sum(map(cost, texts))
            chosen.append((job, texts))
            if job.texts:
                unfinished.append(job)
        self.waiting = later
        self.waiting.extend(unfinished)
        return chosen

    async def _answer(self, chosen: Round) -> None:
        try:
            documents = iter(await self._call([text for _, texts in chosen for text in texts], chosen[0][0].options))
        except Exception as error:
            if len(chosen) == 1:
                self._give_up(chosen[0][0], error)
                return
            for one in chosen:
                await self._answer([one])
            return
        for job, texts in chosen:
            job.receive([next(documents) for _ in texts])

    def _give_up(self, job: Job, error: Exception) -> None:
        job.fail(error)
        with suppress(ValueError):
            self.waiting.remove(job)

    async def _call(self, texts: list[Document], options: Options) -> Sequence[Document]:
        began = time.perf_counter()
        documents = await asyncio.get_running_loop().run_in_executor(self.thread, self.extract, texts, options)
        self.observe(len(texts), time.perf_counter() - began)
        if len(documents) != len(texts):
            raise RuntimeError("the model gave another number of documents than texts")
        return documents


def cost(text: Document) -> int:
    """Its characters; an empty text costs one."""
    return max(1, len(text.text))


def frozen(value: float | Mapping[str, float] | None) -> Threshold:
    """A threshold that can be compared."""
    return tuple(value.items()) if isinstance(value, Mapping) else value
