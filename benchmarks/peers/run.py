"""Compare spanwise with other tools on the same texts: speed, F1, memory and cold start.

    python benchmarks/peers/run.py --corpus conll04 --model torch=runs/conll04 --out peers.json

The script writes the corpus for the peers, makes one virtual environment per peer, trains each peer on the train split
and starts one process per system. The systems then take turns: in every round, each of them reads the same texts once.
Trained peers are kept in the work folder; `--retrain` trains them again. See docs/peers.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import systems
from systems import PEERS, UNTRAINED, Serving, System

from spanwise import corpora, runtime
from spanwise.document import Document, Entity
from spanwise.metrics import score_entities

WORK = Path(__file__).resolve().parents[2] / ".cache" / "peers"
REFERENCE = "encoder"
HEADER = (
    "system",
    "test F1",
    "words per second",
    f"relative to {REFERENCE}",
    "words per CPU second",
    "peak MB",
    "cold start, s",
    "training, CPU s",
)


@dataclass(slots=True)
class Measured:
    """The measurements of one system; `seconds` has one item per round."""

    name: str
    f1: float | None = None
    precision: float | None = None
    recall: float | None = None
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    cold_starts: list[float] = field(default_factory=list)
    peak_megabytes: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    error: str = ""


Results = dict[str, Measured]  # by the name of the system


def report(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def joined(document: Document) -> Document:
    """The document with its words joined by single spaces, which is the text that every system reads."""
    words = [document.text[word.start : word.end] for word in document.words]
    starts = {word.start: index for index, word in enumerate(document.words)}
    ends = {word.end: index + 1 for index, word in enumerate(document.words)}
    return Document.from_words(words, [(starts[e.start], ends[e.end], e.label) for e in document.entities])


def write_data(corpus: corpora.Corpus, folder: Path) -> None:
    """The splits as JSON lines, and the labels."""
    folder.mkdir(parents=True, exist_ok=True)
    for split in ("train", "dev", "test"):
        with (folder / f"{split}.jsonl").open("w", encoding="utf-8") as lines:
            for document in map(joined, corpus.split(split)):
                spans = [(entity.start, entity.end, entity.label) for entity in document.entities]
                row = {"text": document.text, "tokens": document.text.split(" "), "spans": spans}
                lines.write(json.dumps(row) + "\n")
    (folder / "labels.json").write_text(json.dumps(list(corpus.schema.entity_names)), encoding="utf-8")


def evenly(texts: Sequence[str], number: int | None) -> list[str]:
    """This many of the texts, evenly spread; all of them without a number."""
    if number is None or number >= len(texts):
        return list(texts)
    return [texts[index * len(texts) // number] for index in range(number)]


def ready(options: argparse.Namespace, data: Path) -> tuple[list[System], list[Measured]]:
    """The systems that can run, and those that failed with the reason."""
    chosen, failed = [], []
    for name in options.peers:
        try:
            system = systems.peer(name, options.work, options.corpus)
            if name not in UNTRAINED and (options.retrain or not system.training):
                report(f"training {name}")
                epochs = ["--epochs", str(dict(options.epochs)[name])] if name in dict(options.epochs) else []
                arguments = ["--seed", str(options.seed), *epochs]
                systems.train(system, data, arguments, options.threads, options.limit)
                report(f"trained {name} in {system.training['seconds']:.0f} s")
            chosen.append(system)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            report(f"{name} is left out: {error}")
            failed.append(Measured(name, error=type(error).__name__))
    return [*chosen, *(systems.spanwise(name, folder) for name, folder in options.model)], failed


def start(
    each: System, options: argparse.Namespace, texts: list[str], gold: list[Document]
) -> tuple[Serving, Measured]:
    """Start a system, score it on the whole test split and give it the texts that are timed."""
    serving = Serving(each, options.threads, log_of(each, options.work), options.limit)
    measured = Measured(each.name, training=each.training)
    answer = serving.ask("predict", texts=[document.text for document in gold])
    if each.name != REFERENCE:
        found = [
            Document(document.text, entities=tuple(Entity(*span) for span in dict.fromkeys(map(tuple, spans))))
            for document, spans in zip(gold, answer["spans"], strict=True)
        ]
        score = score_entities(gold, found).micro
        measured.f1, measured.precision, measured.recall = score.f1, score.precision, score.recall
    serving.ask("load", texts=texts)
    report(f"{each.name}: test F1 {measured.f1 and round(100 * measured.f1, 2)}, {answer['seconds']:.1f} s")
    return serving, measured


def log_of(system: System, work: Path) -> Path:
    folder = work / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{system.name.replace(' ', '-')}.log"


def take_turns(serving: dict[str, Serving], measured: Results, options: argparse.Namespace, words: int) -> None:
    """A system that stops answering leaves the turns; the others go on."""
    for number in range(options.rounds):
        for name in systems.in_order(list(serving), number):
            if measured[name].error:
                continue
            try:
                answer = serving[name].ask("time")
            except RuntimeError as error:
                fail(measured[name], error)
                continue
            measured[name].seconds.append(answer["seconds"])
            measured[name].cpu_seconds.append(answer["cpu_seconds"])
            report(f"round {number + 1} of {options.rounds}: {name} {words / answer['seconds']:.0f} words/s")
    for name, each in serving.items():
        if not measured[name].error:
            answer = each.ask("describe")
            measured[name].peak_megabytes, measured[name].versions = answer["peak_megabytes"], answer["versions"]


def measure_cold_starts(chosen: Sequence[System], measured: Results, options: argparse.Namespace, text: str) -> None:
    by_name = {system.name: system for system in chosen}
    for number in range(options.starts):
        for name in systems.in_order(list(by_name), number):
            log = log_of(by_name[name], options.work)
            try:
                seconds = systems.cold_start(by_name[name], text, options.threads, log, options.limit)
                measured[name].cold_starts.append(seconds)
            except RuntimeError as error:
                report(f"no cold start: {error}")
        report(f"cold start {number + 1} of {options.starts} done")


def fail(measured: Measured, error: Exception) -> None:
    report(str(error))
    measured.error = "no answer"


def row(each: Measured, words: int, reference: Measured | None) -> tuple[str, ...]:
    """The cells of one system: medians, with the lowest and highest of the rounds."""
    if each.error:
        return (each.name, f"failed: {each.error}", *[""] * (len(HEADER) - 2))
    speeds = [words / seconds for seconds in each.seconds]
    relative = ""
    if reference is not None and reference.seconds:
        relative = f"{statistics.median(r / s for r, s in zip(reference.seconds, each.seconds, strict=True)):.2f}"
    return (
        each.name,
        "" if each.f1 is None else f"{100 * each.f1:.2f}",
        f"{statistics.median(speeds):,.0f} ({min(speeds):,.0f} to {max(speeds):,.0f})",
        relative,
        f"{words / statistics.median(each.cpu_seconds):,.0f}",
        f"{each.peak_megabytes:,.0f}",
        f"{statistics.median(each.cold_starts):.1f}" if each.cold_starts else "",
        f"{each.training['cpu_seconds']:.0f}" if each.training else "",
    )


def table(measured: Sequence[Measured], words: int) -> str:
    reference = next((each for each in measured if each.name == REFERENCE), None)
    rows = [HEADER, ("---",) * len(HEADER), *(row(each, words, reference) for each in measured)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def check_threads(measured: Sequence[Measured], threads: int) -> list[str]:
    """A warning for each system that used more threads than it was given."""
    used = {each.name: sum(each.cpu_seconds) / sum(each.seconds) for each in measured if each.seconds}
    return [f"{name} used {share:.1f} cores, not {threads}" for name, share in used.items() if share > 1.1 * threads]


def model_option(value: str) -> tuple[str, Path]:
    name, separator, folder = value.partition("=")
    if not separator or not Path(folder).is_dir():
        raise argparse.ArgumentTypeError(f"{value!r} is not NAME=FOLDER with an existing folder")
    return name, Path(folder)


def epochs_option(value: str) -> tuple[str, int]:
    name, _, number = value.partition("=")
    if name not in PEERS or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{value!r} is not PEER=N with one of {', '.join(PEERS)}")
    return name, int(number)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--corpus", default="conll04", help="a named corpus with train, dev and test (default: conll04)"
    )
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS), help="default: all")
    parser.add_argument(
        "--model", action="append", type=model_option, default=[], metavar="NAME=FOLDER", help="a spanwise model"
    )
    parser.add_argument("--rounds", type=int, default=5, help="timed passes over the texts (default: 5)")
    parser.add_argument("--starts", type=int, default=3, help="cold starts of each system (default: 3)")
    parser.add_argument("--texts", type=int, help="time only this many test texts; F1 is of all (default: all)")
    parser.add_argument("--threads", type=int, default=1, help="of each system (default: 1)")
    parser.add_argument("--seed", type=int, default=1, help="of the trainings (default: 1)")
    parser.add_argument(
        "--epochs", action="append", type=epochs_option, default=[], metavar="PEER=N", help="other than its default"
    )
    parser.add_argument("--train-only", action="store_true", help="make the environments, train, and stop")
    parser.add_argument("--retrain", action="store_true", help="train peers again that are trained already")
    parser.add_argument("--limit", type=float, default=3600, help="seconds of one training or answer (default: 3600)")
    parser.add_argument("--work", type=Path, default=WORK, help="environments, data and trained peers (.cache/peers)")
    parser.add_argument("--out", type=Path, help="write all measurements as JSON")
    options = parser.parse_args()
    options.work = options.work.resolve()
    return options


def measure(chosen: Sequence[System], options: argparse.Namespace, texts: list[str], gold: list[Document]) -> Results:
    """Score every system, then let them take turns; a system that gives no answer is reported and left out."""
    results: Results = {}
    serving: dict[str, Serving] = {}
    try:
        for system in chosen:
            try:
                serving[system.name], results[system.name] = start(system, options, texts, gold)
            except RuntimeError as error:
                results[system.name] = Measured(system.name)
                fail(results[system.name], error)
        take_turns(serving, results, options, word_count(texts))
    finally:
        systems.close_all(serving)
    measure_cold_starts([system for system in chosen if system.name in serving], results, options, texts[0])
    return results


def word_count(texts: Sequence[str]) -> int:
    return sum(len(text.split()) for text in texts)


def main() -> None:
    options = parse()
    corpus = corpora.load(options.corpus)
    data = options.work / "data" / options.corpus
    write_data(corpus, data)
    chosen, failed = ready(options, data)
    if options.train_only:
        return
    gold = [joined(document) for document in corpus.split("test")]
    texts = evenly([document.text for document in gold], options.texts)
    loads = [os.getloadavg()[0]]
    results = [*measure(chosen, options, texts, gold).values(), *failed]
    loads.append(os.getloadavg()[0])
    warnings = check_threads(results, options.threads)
    print(table(results, word_count(texts)))
    for warning in warnings:
        report(f"warning: {warning}")
    if options.out:
        record = {
            "date": datetime.now(UTC).date().isoformat(),
            **{name: getattr(options, name) for name in ("corpus", "rounds", "threads", "seed")},
            "texts": len(texts),
            "words": word_count(texts),
            "machine": platform.machine(),
            "cores": runtime.available_cores(),
            "load_average": [round(load, 1) for load in loads],
            "warnings": warnings,
            "systems": [asdict(each) for each in results],
        }
        options.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
