"""Micro-batches: each request gets its own documents, whatever happens to its neighbors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("fastapi")
from fake import FakeExtractor
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import Document
from spanwise.serve.batcher import Batcher, Options
from spanwise.serve.refusals import Refusal
from spanwise.serve.settings import Settings

PLAIN, HIGH = Options(), Options(threshold=0.9)


def run(scenario: Callable[[Batcher], Awaitable[Any]], fake: FakeExtractor | None = None, **limits: Any) -> Any:
    """What the scenario gives with a batcher that runs."""
    reader = fake or FakeExtractor()

    async def main() -> Any:
        batcher = Batcher(lambda texts, options: reader(texts, **options.keywords()), Settings(**limits))
        batcher.start()
        try:
            return await scenario(batcher)
        finally:
            await batcher.stop()

    return asyncio.run(main())


def documents(*texts: str) -> list[Document]:
    return [Document(text) for text in texts]


def refusal_of(found: Any) -> tuple[int, str]:
    assert isinstance(found, Refusal), found
    return found.status, found.code


@given(
    st.lists(
        st.tuples(st.lists(st.text("Ab broken", max_size=30), min_size=1, max_size=6), st.sampled_from([PLAIN, HIGH])),
        max_size=12,
    ),
    st.integers(1, 60),
)
@settings(max_examples=40)
def test_every_request_gets_its_own_documents(requests: list[tuple[list[str], Options]], budget: int) -> None:
    async def scenario(batcher: Batcher) -> list[Any]:
        asked = (batcher.submit(documents(*texts), options) for texts, options in requests)
        return await asyncio.gather(*asked, return_exceptions=True)

    answers = run(scenario, batch_characters=budget, batch_wait=0)
    for (texts, _), answer in zip(requests, answers, strict=True):
        if any("broken" in text for text in texts):
            assert isinstance(answer, RuntimeError)
        else:
            assert [document.text for document in answer] == texts


def test_requests_that_wait_share_a_batch_and_a_failure_stays_alone() -> None:
    fake = FakeExtractor()

    async def scenario(batcher: Batcher) -> list[Any]:
        texts = ("Mara", "broken", "Bo", "Ada")
        return await asyncio.gather(*(batcher.submit(documents(t), PLAIN) for t in texts), return_exceptions=True)

    good, bad, *rest = run(scenario, fake)
    assert fake.calls == [4, 1, 1, 1, 1]  # together first, then each alone
    assert isinstance(bad, RuntimeError)
    assert [found.text for answer in (good, *rest) for found in answer] == ["Mara", "Bo", "Ada"]


def test_a_large_request_lets_a_small_one_pass_after_a_round() -> None:
    async def scenario(batcher: Batcher) -> list[str]:
        order: list[str] = []

        async def ask(name: str, texts: list[Document]) -> None:
            await batcher.submit(texts, PLAIN)
            order.append(name)

        await asyncio.gather(ask("large", documents(*["x" * 50] * 40)), ask("small", documents("y")))
        return order

    assert run(scenario, batch_characters=100) == ["small", "large"]


def test_a_full_queue_and_a_late_answer_are_refused_with_503() -> None:
    async def scenario(batcher: Batcher) -> list[Any]:
        asked = [batcher.submit(documents("slow"), PLAIN) for _ in range(3)]
        return await asyncio.gather(*asked, return_exceptions=True)

    late, _, full = run(scenario, max_queue=2, timeout=0.05)
    assert refusal_of(late) == (503, "timeout")
    assert refusal_of(full) == (503, "queue_full")
    assert full.headers["Retry-After"] == "1"


def test_a_late_request_is_not_read_and_the_next_one_is_answered() -> None:
    fake = FakeExtractor()

    async def scenario(batcher: Batcher) -> Any:
        late = [batcher.submit(documents("slow", "slow"), PLAIN) for _ in range(3)]
        await asyncio.gather(*late, return_exceptions=True)
        began = time.monotonic()
        while batcher.waiting and time.monotonic() - began < 5:
            await asyncio.sleep(0.01)
        batcher.settings = Settings()
        return await batcher.submit(documents("Mara"), PLAIN)

    assert [document.text for document in run(scenario, fake, timeout=0.05, batch_characters=4)] == ["Mara"]
    assert sum(fake.calls) < 6  # texts of requests that were given up
