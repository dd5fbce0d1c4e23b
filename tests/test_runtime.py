"""Threads, seeds, processes and half precision."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from spanwise import runtime
from spanwise.errors import InputError


@pytest.fixture(autouse=True)
def same_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_an_argument_counts_before_the_environment_and_that_before_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(runtime.THREADS_VARIABLE, "2")
    assert runtime.set_threads(3) == torch.get_num_threads() == 3
    assert runtime.set_threads() == torch.get_num_threads() == 2
    monkeypatch.delenv(runtime.THREADS_VARIABLE)
    assert runtime.set_threads() == torch.get_num_threads() == runtime.available_cores()


def test_processes_of_one_machine_share_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(runtime.THREADS_VARIABLE)
    monkeypatch.setattr(runtime, "available_cores", lambda: 4)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert runtime.set_threads() == 2
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "9")
    assert runtime.set_threads() == 1


@pytest.mark.parametrize("value", ["many", "-1", "0", "", "1.5"])
def test_a_number_of_threads_that_is_invalid_is_rejected(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(runtime.THREADS_VARIABLE, value)
    with pytest.raises(InputError, match=f"SPANWISE_THREADS is a number of threads, at least 1, not '{value}'"):
        runtime.set_threads()


def with_gpus(monkeypatch: pytest.MonkeyPatch, count: int, mps: bool = False) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


def test_a_device_that_the_machine_has_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch, 2)
    assert [runtime.resolve_device(name) for name in ("cpu", "cuda", "cuda:1")] == ["cpu", "cuda", "cuda:1"]
    assert runtime.resolve_device("auto") == "cuda"
    with_gpus(monkeypatch, 0, mps=True)
    assert runtime.resolve_device("auto") == runtime.resolve_device("mps") == "mps"
    with_gpus(monkeypatch, 0)
    assert runtime.resolve_device("auto") == "cpu"


@pytest.mark.parametrize(("name", "gpus"), [("cuda", 0), ("cuda:0", 0), ("mps", 0), ("cuda:2", 2), ("mps", 2)])
def test_a_device_that_the_machine_lacks_is_rejected(monkeypatch: pytest.MonkeyPatch, name: str, gpus: int) -> None:
    with_gpus(monkeypatch, gpus)
    with pytest.raises(InputError, match=f"^device '{name}' is not available here; choose from auto, cpu.*\\.$"):
        runtime.resolve_device(name)


@pytest.mark.parametrize("name", ["banana", "", "CPU", "cuda:", "cuda:x", "cuda:-1", "cpu:0", "meta", "x" * 10_000])
def test_an_unknown_device_is_rejected(name: str) -> None:
    with pytest.raises(InputError, match=r"^unknown device '.{0,85}'; choose from auto, cpu, cuda, cuda:N and mps\.$"):
        runtime.resolve_device(name)


def drawn(*key: int) -> tuple[float, float]:
    rng = runtime.seed_step(*key)
    return float(rng.random()), float(torch.rand(1))


def test_a_key_draws_the_same_numbers_whatever_was_drawn_before() -> None:
    first = drawn(1, 2, 3, 0)
    torch.rand(100)
    assert drawn(1, 2, 3, 0) == first


def test_keys_that_differ_in_one_place_draw_different_numbers() -> None:
    keys = [(1, 2, 3, 0), (2, 2, 3, 0), (1, 3, 3, 0), (1, 2, 4, 0), (1, 2, 3, 1)]
    draws = [drawn(*key) for key in keys]
    assert len({a for a, _ in draws}) == len({b for _, b in draws}) == len(keys)


def test_the_first_of_several_processes_speaks_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert (runtime.is_main_process(), runtime.process_count()) == (True, 1)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert (runtime.is_main_process(), runtime.process_count()) == (False, 2)


def test_the_environment_names_the_versions_that_a_result_depends_on() -> None:
    described = runtime.describe_environment()
    assert described["torch"] == torch.__version__
    assert {"python", "machine", "cores", "threads", "spanwise", "transformers", "accelerate"} <= set(described)


def interpreter(folder: Path, command: str) -> str:
    """A stand-in for python that does something else."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("command", "works"), [("exit 0", True), ("exit 1", False), (f"kill -{int(signal.SIGILL)} $$", False)]
)
def test_half_precision_is_tried_in_a_child_that_may_die_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, works: bool
) -> None:
    monkeypatch.setattr(sys, "executable", interpreter(tmp_path, command))
    assert runtime.bf16_works.__wrapped__() is works
