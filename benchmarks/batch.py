"""Measure batch extraction and check that a killed process or worker loses no document and doubles none.

    python benchmarks/batch.py --documents 100000 --workers 2

Every run extracts the same generated documents with a tiny random model. The outputs must be equal, byte by byte, to
the output of an undisturbed local run, and hold every document once. The result is a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from spanwise import runtime
from spanwise.inference.batch.source import PART_SIZE
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.blueprint import Blueprint
from spanwise.pipeline.encoders import load_pretrained
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import Recipe
from spanwise.testing.samples import FLAT, sample_corpus, tiny_encoder
from spanwise.text.alignment import align
from spanwise.text.profile import profile

NAMES = ("Mara Ostrow", "Bo Lind", "Ada Moss", "Ivo Kern")
PLACES = ("Brenford", "Westmoor", "Kell")
WORKERS = {"local": "spawn_main", "ray": "ray::MapWorker"}  # in the command line of a worker process


def save_model(folder: Path) -> None:
    """A tagger on a tiny encoder, both with random weights."""
    (folder / "encoder").mkdir()
    corpus = sample_corpus("flat", FLAT)
    encoder = str(tiny_encoder(folder / "encoder"))
    recipe = Recipe.parse({"encoder": {"name": encoder}, "model": {"name": "seq-ner"}, "data": {"corpus": "demo"}})
    blueprint = Blueprint.from_recipe(recipe, profile(map(align, corpus.splits["train"])))
    runtime.seed_step(1)
    pipeline = TorchPipeline(blueprint, corpus.schema, *load_pretrained(encoder))
    pipeline.model.eval()
    Extractor(pipeline).save_pretrained(folder / "model")


def write_documents(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            text = f"{NAMES[number % 4]} met Person {number} in {PLACES[number % 3]} ."
            file.write(json.dumps({"text": text, "id": str(number)}) + "\n")


@dataclass
class Run:
    """One row of the table: an engine, and what is killed when half of the parts are finished."""

    engine: str
    killed: str

    def command(self, folder: Path, out: Path, workers: int) -> list[str]:
        paths = map(str, (folder / "model", folder / "in.jsonl", out))
        options = ["--workers", str(workers), "--engine", self.engine]
        return [sys.executable, "-m", "spanwise", "predict", *paths, *options]

    def measure(self, folder: Path, documents: int, workers: int) -> tuple[Path, float, float]:
        """The output, the seconds that it took in all, and the peak memory of the main process in MB."""
        out = folder / f"{self.engine}-{self.killed}.jsonl"
        command, began = self.command(folder, out, workers), time.perf_counter()
        process = subprocess.Popen(command)  # noqa: S603
        if self.killed != "nothing":
            wait_for(lambda: finished_parts(out) >= documents // PART_SIZE // 2)
            victim = process.pid if self.killed == "process" else min(workers_of(process.pid, WORKERS[self.engine]))
            os.kill(victim, signal.SIGKILL)
            print(f"{self.engine}: killed a {self.killed} after {finished_parts(out)} parts", file=sys.stderr)
        if self.killed == "process":
            process.wait()
            assert not out.exists()
            process = subprocess.Popen(command)  # noqa: S603
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, peak_megabytes(process.pid))
            time.sleep(0.2)
        assert process.returncode == 0
        return out, time.perf_counter() - began, peak


def wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.05)


def finished_parts(out: Path) -> int:
    return len(list(Path(f"{out}.parts").glob("part-*.jsonl")))


def workers_of(pid: int, mark: str) -> Iterator[int]:
    """The processes below this one whose command line has the mark."""
    parents = {int(path.name): parent(path) for path in Path("/proc").iterdir() if path.name.isdecimal()}
    for number in parents:
        above = parents.get(number)
        while above and above != pid:
            above = parents.get(above)
        if above == pid and mark in command_line(number):
            yield number


def parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def peak_megabytes(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    line = next((line for line in status.splitlines() if line.startswith("VmHWM")), "VmHWM 0 kB")
    return int(line.split()[1]) / 1024


def each_once(out: Path, documents: int) -> bool:
    """Whether the ids are those of the input, in its order."""
    with out.open(encoding="utf-8") as file:
        return [json.loads(line)["id"] for line in file] == [str(number) for number in range(documents)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--engine", choices=["local", "ray", "both"], default="both")
    options = parser.parse_args()
    engines = ["local", "ray"] if options.engine == "both" else [options.engine]
    runs = [Run(engine, killed) for engine in engines for killed in ("nothing", "process", "worker")]
    with TemporaryDirectory() as place:
        folder = Path(place)
        save_model(folder)
        write_documents(folder / "in.jsonl", options.documents)
        reference, _, _ = Run("local", "nothing").measure(folder, options.documents, options.workers)
        wanted = reference.read_bytes()
        print("| engine | workers | killed at half | documents | seconds | peak MB | each document once | same bytes |")
        print("|---|---|---|---|---|---|---|---|")
        for run in runs:
            out, seconds, peak = run.measure(folder, options.documents, options.workers)
            once, same = each_once(out, options.documents), out.read_bytes() == wanted
            row = [run.engine, options.workers, run.killed, f"{options.documents:,}", f"{seconds:.0f}", f"{peak:.0f}"]
            print(
                "| " + " | ".join(map(str, [*row, *("yes" if fact else "NO" for fact in (once, same))])) + " |",
                flush=True,
            )
            if not (once and same):
                sys.exit(f"{out.name} differs from the undisturbed run")


if __name__ == "__main__":
    main()
