"""The machine: threads, seeds, half precision. Each is set here and nowhere else."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import version

import numpy as np

from spanwise.errors import InputError

THREADS_VARIABLE = "SPANWISE_THREADS"
_threads_set = False  # by `set_threads`, in this process
_model_process: int | None = None  # the process that first loaded a model


def available_cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_threads(count: int | None = None) -> int:
    """Let torch use this many threads: the argument, else SPANWISE_THREADS, else this process's share of the cores."""
    global _threads_set
    if count is not None and count < 1:
        raise InputError(f"threads= is a number of threads, at least 1, not {count!r}.")
    import torch

    chosen = count or _threads_asked_for() or max(1, available_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", 1)))
    torch.set_num_threads(chosen)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    _threads_set = True
    return chosen


def use_threads(count: int | None = None) -> None:
    """The threads of a model that is loaded: the argument, else SPANWISE_THREADS where none were set before.

    Without either, torch keeps the number that it has.
    """
    if count is not None or (not _threads_set and _threads_asked_for()):
        set_threads(count)


def check_not_forked() -> None:
    """Refuse a fork of a process that has a model: torch would wait there for threads that only its parent has."""
    global _model_process
    _model_process = _model_process or os.getpid()
    if _model_process != os.getpid():
        raise InputError(
            "this process was forked from one that has loaded a model, and PyTorch can hang in it; start the workers "
            "with the method 'spawn', or load the model in the workers alone."
        )


def _threads_asked_for() -> int | None:
    value = os.environ.get(THREADS_VARIABLE)
    if value is None:
        return None
    if not value.isdecimal() or not int(value):
        raise InputError(
            f"the environment variable {THREADS_VARIABLE} is a number of threads, at least 1, not {value!r}."
        )
    return int(value)


def is_main_process() -> bool:
    """Whether this process speaks for all: the first of those that `accelerate launch` started."""
    return int(os.environ.get("RANK", 0)) == 0


def process_count() -> int:
    """How many processes train together."""
    return int(os.environ.get("WORLD_SIZE", 1))


def seed_step(*key: int) -> np.random.Generator:
    """Seed torch and give a generator, both from this key alone.

    Every training step has its own key, so that a resumed run repeats an uninterrupted one with no state to store.
    """
    import torch

    sequence = np.random.SeedSequence(key)
    torch.manual_seed(int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1)))
    return np.random.default_rng(sequence)


@cache
def bf16_works() -> bool:
    """Whether bfloat16 autocast runs here, tried in a child process: some CPUs advertise it and die of it."""
    probe = "import torch\nwith torch.autocast('cpu', torch.bfloat16): torch.nn.Linear(64, 64)(torch.ones(32, 64))"
    return subprocess.run([sys.executable, "-c", probe], capture_output=True).returncode == 0  # noqa: S603


def describe_environment() -> dict[str, str | int]:
    """What a result was measured on."""
    import torch

    packages = ("spanwise", "torch", "transformers", "tokenizers", "accelerate", "numpy")
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": available_cores(),
        "threads": torch.get_num_threads(),
        **{package: version(package) for package in packages},
    }
