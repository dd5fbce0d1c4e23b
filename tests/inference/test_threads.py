"""One extractor for several threads: each gets what it would get alone."""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from label_askers import emboldened
from spanwise.document import Document
from spanwise.inference.extractor import Extractor
from spanwise.pipeline import label_cache, torch_runner
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.seam.batch import Batch, LabelTexts, Words
from spanwise.seam.decoder import NoRows
from spanwise.seam.module import Output
from spanwise.seam.proposals import empty_proposals
from spanwise.text import pieces as pieces_module
from spanwise.text.pieces import WordPieces

THREADS, ROUNDS = 8, 12
PEOPLE, PLACES = ("Mara", "Bo", "Ada Moss", "Ivo Lind"), ("Brenford", "Kell", "Westmoor", "Upper Dale")
T = TypeVar("T")


@pytest.fixture(autouse=True)
def eager_switches() -> Iterator[None]:
    """Threads take turns a thousand times as often as they usually do."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(autouse=True)
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory of word pieces that starts anew every few texts."""
    monkeypatch.setattr(pieces_module, "CACHE_SIZE", 50)


def together(work: Callable[[int], T]) -> list[T]:
    """work(0), work(1), … in a thread each, all started at once; an exception in one of them is raised."""
    barrier = Barrier(THREADS)

    def started(number: int) -> T:
        barrier.wait(timeout=60)
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(started, range(THREADS)))


def texts_of(thread: int) -> list[str]:
    """Texts with words of their own for every thread, one of them longer than the encoder's window."""
    rows = [
        f"{PEOPLE[(thread + n) % 4]} met {PEOPLE[n % 4]} in {PLACES[(thread * n) % 4]} on day {100 * thread + n} ."
        for n in range(6)
    ]
    return [*rows, " ".join(rows * 2), ""]


def read_together(read: Callable[[int, str], Document]) -> None:
    """Every thread reads its texts again and again, and finds what was found in them one after another."""
    wanted = [[read(thread, text) for text in texts_of(thread)] for thread in range(THREADS)]
    assert sum(len(document.entities) for row in wanted for document in row) > 100

    def work(thread: int) -> list[list[Document]]:
        texts = texts_of(thread)
        turns = [[(n + turn) % len(texts) for n in range(len(texts))] for turn in range(ROUNDS)]
        found = [{n: read(thread, texts[n]) for n in turn} for turn in turns]
        return [[turn[n] for n in range(len(texts))] for turn in found]

    for thread, rounds in enumerate(together(work)):
        assert all(found == wanted[thread] for found in rounds)


def test_threads_that_share_an_extractor_find_what_each_would_find_alone(trained: Path) -> None:
    extractor = Extractor.from_pretrained(trained)
    read_together(lambda _, text: extractor(text))


def test_threads_may_use_thresholds_of_their_own(trained: Path) -> None:
    extractor = Extractor.from_pretrained(trained)
    read_together(lambda thread, text: extractor(text, threshold=thread / THREADS))


@pytest.fixture(scope="module")
def asker(make_pipeline: Callable[..., TorchPipeline]) -> Extractor:
    return Extractor(emboldened(make_pipeline("lear", shared=True)))


@pytest.mark.parametrize("kept", [8, 2], ids=["all sets are kept", "two sets are kept"])
def test_threads_may_ask_for_labels_of_their_own(asker: Extractor, monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    monkeypatch.setattr(label_cache, "LABEL_SETS", kept)
    labels = [
        {f"Kind {thread}": f"things of kind {thread}", **({"Town": "where people live"} if thread % 2 else {})}
        for thread in range(THREADS)
    ]
    read_together(lambda thread, text: asker(text, labels=labels[thread] if thread else None))


def test_threads_may_share_a_stream_of_lists(trained: Path) -> None:
    extractor = Extractor.from_pretrained(trained)
    wanted = [extractor(texts_of(thread)) for thread in range(THREADS)]
    for found in (together(lambda thread: list(extractor.stream(iter(texts_of(thread))))) for _ in range(4)):
        assert found == wanted


def test_threads_that_share_word_pieces_get_those_of_each_word(tiny_encoder: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(tiny_encoder)
    shared, alone = WordPieces.of(tokenizer, max_per_word=16), WordPieces.of(tokenizer, max_per_word=16)
    vocabulary = [f"{stem}{number}" for stem in ("mara", "kell", "ostrow") for number in range(60)]
    wanted = dict(zip(vocabulary, alone(vocabulary), strict=True))

    def work(thread: int) -> list[tuple[Sequence[str], list[tuple[int, ...]]]]:
        """Batches of words that overlap with those of other threads, most larger than the memory has room for."""
        found = []
        for turn in range(200):
            at = (37 * thread + 11 * turn) % len(vocabulary)
            words = [vocabulary[(at + 7 * n) % len(vocabulary)] for n in range(1 + turn % 40)]
            found.append((words, shared(words)))
        return found

    for rows in together(work):
        for words, pieces in rows:
            assert pieces == [wanted[word] for word in words]
    assert len(shared._known) <= 50


class EchoScores(NamedTuple):
    labels: Tensor


class Echo(nn.Module):
    """A model that knows nothing but the labels it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def encode_labels(self, texts: LabelTexts[Tensor]) -> tuple[Tensor, ...]:
        return (texts.pieces.clone(),)

    def forward(self, batch: Batch[Tensor], labels: tuple[Tensor, ...]) -> Any:
        return Output(EchoScores(labels[0]), NoRows())


class SlowMemory(OrderedDict[Any, Any]):
    """Lets other threads in between the question for a key and what is done with the answer."""

    def __contains__(self, key: object) -> bool:
        found = super().__contains__(key)
        time.sleep(1e-4)
        return found


def test_threads_that_share_a_runner_get_their_own_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """More sets of labels than are kept: each is forgotten while others look for theirs."""
    monkeypatch.setattr(label_cache, "LABEL_SETS", 2)
    runner = torch_runner.TorchRunner(cast(Any, Echo()))
    runner._labels._sets = SlowMemory()
    none = np.zeros((1, 1), np.int64)
    batch = Batch(1, Words(*[none] * 7), empty_proposals())

    def work(thread: int) -> bool:
        same = []
        for turn in range(300):
            number = (thread + turn // 3) % 4
            texts = LabelTexts(np.full((1, 2), number), none == 0, none == 0)
            (found,) = runner.forward(replace(batch, labels=texts)).scores
            same.append((found == number).all())
        return all(same)

    assert together(work) == [True] * THREADS
