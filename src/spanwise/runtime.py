"""Runtime settings: threads, devices, seeds, half precision. No other module sets them."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import version

import numpy as np

from spanwise.errors import InputError, shortened

THREADS_VARIABLE = "SPANWISE_THREADS"
_threads: int | None = None  # set by `set_threads`, in this process
_threads_pending = False  # whether torch does not know them yet
_model_process: int | None = None  # the process that first loaded a model


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_threads(count: int | None = None) -> int:
    """Set the threads of models to the argument, else SPANWISE_THREADS, else this process's share of the cores.

    torch is not imported for that: if it is not there yet, `apply_threads` sets its threads later.
    """
    global _threads, _threads_pending
    if count is not None and count < 1:
        raise InputError(f"threads= is a number of threads, at least 1, not {count!r}.")
    chosen = count or _threads_asked_for() or max(1, available_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", 1)))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    _threads, _threads_pending = chosen, True
    if sys.modules.get("torch") is not None:
        apply_threads()
    return chosen


def apply_threads() -> None:
    """Give torch the threads that were set before it was imported."""
    global _threads_pending
    if _threads_pending and _threads is not None:
        import torch

        torch.set_num_threads(_threads)
        _threads_pending = False


def use_threads(count: int | None = None) -> None:
    """The threads of a PyTorch model: the argument, else SPANWISE_THREADS where none were set before.

    Without either, torch keeps the number that it has.
    """
    if count is not None or (_threads is None and _threads_asked_for()):
        set_threads(count)


def session_threads(count: int | None = None) -> int:
    """The threads of a model on ONNX Runtime: the argument, else those set before, else SPANWISE_THREADS, else all."""
    return set_threads(count) if count is not None or _threads is None else _threads


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


def resolve_device(name: str) -> str:
    """The device of this name where the machine has it: cpu, cuda, cuda:N or mps; `auto` is the best there is."""
    found = _devices()
    if name == "auto":
        return found[-1]
    if not re.fullmatch(r"cpu|mps|cuda(:\d{1,3})?", name):
        raise InputError(f"unknown device {shortened(name)!r}; choose from auto, cpu, cuda, cuda:N and mps.")
    if name not in found:
        raise InputError(f"device {name!r} is not available here; choose from auto, {', '.join(found)}.")
    return name


def _devices() -> list[str]:
    """Those that torch can use here, the best one last."""
    import torch

    mps = ["mps"] if torch.backends.mps.is_available() else []
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return ["cpu", *mps, *(f"cuda:{number}" for number in range(gpus)), *(["cuda"] if gpus else [])]


def is_main_process() -> bool:
    """Whether this is the main process, the first of those that `accelerate launch` started."""
    return int(os.environ.get("RANK", 0)) == 0


def process_count() -> int:
    """The number of processes that train together."""
    return int(os.environ.get("WORLD_SIZE", 1))


def seed_step(*key: int) -> np.random.Generator:
    """Seed torch and return a generator, both from this key alone.

    Every training step has its own key, so that a resumed run equals an uninterrupted one without any stored state.
    """
    import torch

    sequence = np.random.SeedSequence(key)
    torch.manual_seed(int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1)))
    return np.random.default_rng(sequence)


@cache
def bf16_works() -> bool:
    """Whether bfloat16 autocast works here. A child process tries it, because some CPUs advertise it but crash."""
    probe = "import torch\nwith torch.autocast('cpu', torch.bfloat16): torch.nn.Linear(64, 64)(torch.ones(32, 64))"
    return subprocess.run([sys.executable, "-c", probe], capture_output=True).returncode == 0  # noqa: S603


def describe_environment() -> dict[str, str | int]:
    """The machine and the package versions that a result was measured with."""
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
