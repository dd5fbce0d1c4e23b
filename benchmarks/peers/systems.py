"""The systems that are compared: what each runs with, its training, and a serving process that answers commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import environments
import protocol

PEERS = {  # name: its environment
    "spacy": "spacy",
    "transformers": "transformers",
    "span_marker": "span_marker",
    "gliner": "gliner",
    "encoder": "transformers",
}
UNTRAINED = ("encoder",)


@dataclass(frozen=True, slots=True)
class System:
    """A script, the Python that runs it and the folder of its model."""

    name: str
    python: Path
    script: Path
    model: Path

    def command(self, *arguments: str) -> list[str]:
        return [str(self.python), str(self.script), *arguments]

    @property
    def training(self) -> dict[str, Any]:
        """The record of its training; empty for systems that were not trained here."""
        record = self.model / protocol.TRAINING
        return json.loads(record.read_text("utf-8")) if record.exists() else {}


def peer(name: str, work: Path, corpus: str) -> System:
    python = environments.interpreter(work, PEERS[name])
    return System(name, python, environments.HERE / f"peer_{name}.py", work / "models" / corpus / name)


def spanwise(name: str, folder: Path) -> System:
    return System(f"spanwise {name}", Path(sys.executable), environments.HERE / "peer_spanwise.py", folder)


def environment(threads: int) -> dict[str, str]:
    """The variables of a child: its threads, and no access to a hub."""
    limited = ("OMP", "MKL", "OPENBLAS", "BLIS", "NUMEXPR")
    return {
        **os.environ,
        **{f"{library}_NUM_THREADS": str(threads) for library in limited},
        "SPANWISE_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "false" if threads == 1 else "true",
        "RAYON_NUM_THREADS": str(threads),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
    }


def train(system: System, data: Path, options: Sequence[str], threads: int, limit: float) -> None:
    """Train a peer in a process of its own, for at most `limit` seconds. Its output goes to a log beside its model."""
    system.model.mkdir(parents=True, exist_ok=True)
    command = system.command("train", str(data), str(system.model), *options)
    with (system.model / "training.log").open("w") as log:
        subprocess.run(  # noqa: S603
            command, env=environment(threads), stdout=log, stderr=log, timeout=limit, check=True
        )


class Serving:
    """A child process with a loaded system. A command that takes longer than `limit` seconds ends the child."""

    def __init__(self, system: System, threads: int, log: Path, limit: float) -> None:
        self.system, self.limit = system, limit
        self._log = log.open("w")
        self._child = subprocess.Popen(  # noqa: S603
            system.command("serve", str(system.model), "--threads", str(threads)),
            env=environment(threads),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        watch = threading.Timer(self.limit, self._child.kill)
        watch.start()
        try:
            self._child.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
            self._child.stdin.flush()
            answer = self._child.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            watch.cancel()
        if not answer:
            raise RuntimeError(f"{self.system.name} ended without an answer; see {self._log.name}")
        return json.loads(answer)

    def close(self) -> None:
        """End the child by closing its standard input, or else by a signal."""
        assert self._child.stdin is not None
        try:
            self._child.stdin.close()
            self._child.wait(timeout=20)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._child.kill()
            self._child.wait()
        self._log.close()


def cold_start(system: System, text: str, threads: int, log: Path, limit: float) -> float:
    """Seconds from the start of a fresh process to its first prediction, on one text."""
    began = time.perf_counter()
    serving = Serving(system, threads, log, limit)
    try:
        serving.ask("predict", texts=[text])
        return time.perf_counter() - began
    finally:
        serving.close()


def in_order(names: Sequence[str], number: int) -> list[str]:
    """The names, beginning with another one in every round."""
    first = number % len(names)
    return [*names[first:], *names[:first]]


def close_all(serving: Mapping[str, Serving]) -> None:
    for each in serving.values():
        each.close()
