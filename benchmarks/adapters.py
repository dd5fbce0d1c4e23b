"""LoRA beside full training: F1, training time and folder size; and the memory of two adapters on one encoder.

    python benchmarks/adapters.py --corpus conll04 --seeds 1 2 3
    python benchmarks/adapters.py --corpus bc5cdr --recipe span-ner --lora encoder.lora_rank=16 train.encoder_lr=1e-3
    python benchmarks/adapters.py --memory --encoder e5-small

The first two print a Markdown table. `--sample N` trains on N documents and scores on N, to try the script out.
`--set` overrides keys of the recipe for both, `--lora` for the adapter alone: its small new matrices need a higher
learning rate than pretrained weights. F1 is strict and micro, on test, or on dev where the corpus has no test split.

`--memory` trains nothing. It saves two small models with adapters and prints the peak memory of processes that load no
model, one, both on one encoder, and both with an encoder each.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spanwise import Corpus, Document, Extractor, Recipe, corpora, evaluate, runtime, train
from spanwise.recipe import find_recipe
from spanwise.training.reporting import NullListener

ADAPTER = ("encoder.adapter=lora", "encoder.freeze_embeddings=false")
TEXT = "Mara Ostrow joined the University of Brenford in 1998 ."
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Run:
    """One trained model."""

    f1: float
    seconds: float
    folder: float  # MB of the model's files
    weights: float  # MB of them, the file of weights


def trained(recipe: Recipe, corpus: Corpus, gold: Sequence[Document]) -> Run:
    with tempfile.TemporaryDirectory() as name:
        folder, copy = Path(name) / "run", Path(name) / "model"
        summary = train(recipe, folder, NullListener(), corpus)
        extractor = Extractor.from_pretrained(folder)
        extractor.save_pretrained(copy)
        sizes = {path.name: path.stat().st_size / MEGABYTE for path in copy.iterdir()}
        f1 = evaluate(extractor, gold).entities.micro.f1
        return Run(f1, summary.seconds, sum(sizes.values()), sizes["model.safetensors"])


def compare(options: argparse.Namespace) -> None:
    whole = corpora.load(options.corpus)
    splits = {name: rows[: options.sample] for name, rows in whole.splits.items()}
    corpus = Corpus(whole.name, splits, whole.schema)
    gold = splits.get("test") or splits["dev"]
    encoder = [f"encoder.name={options.encoder}"]
    print("| training | F1 | seconds | folder, MB | weights, MB |\n|---|---|---|---|---|")
    for kind, overrides in (("full", ()), ("LoRA", (*ADAPTER, *options.lora))):
        runs = []
        for seed in options.seeds:
            keys = [f"data.corpus={options.corpus}", *encoder, *options.set, *overrides, f"train.seed={seed}"]
            runs.append(trained(Recipe.load(find_recipe(options.recipe), keys), corpus, gold))
        print(row(kind, runs), flush=True)


def row(kind: str, runs: Sequence[Run]) -> str:
    scores = [100 * run.f1 for run in runs]
    spread = f" ± {statistics.stdev(scores):.2f}" if len(scores) > 1 else ""

    def mean(name: str) -> float:
        return statistics.mean(getattr(run, name) for run in runs)

    cells = (f"{mean('seconds'):,.0f}", f"{mean('folder'):.1f}", f"{mean('weights'):.1f}")
    return f"| {kind} | {statistics.mean(scores):.2f}{spread} | {' | '.join(cells)} |"


def memory(encoder: str) -> None:
    """Peak memory, each in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        for seed in (1, 2):
            save_random(encoder, Path(name) / str(seed), seed)
        print("| models | peak memory, MB |\n|---|---|")
        for kind in ("none", "one", "two on one encoder", "two with an encoder each"):
            command = [sys.executable, __file__, "--memory-of", kind, "--folder", name, "--encoder", encoder]
            done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
            print(f"| {kind} | {done.stdout.strip()} |")


def save_random(encoder: str, folder: Path, seed: int) -> None:
    """An untrained model with an adapter."""
    from spanwise.pipeline import folder as model_folder
    from spanwise.training.preparation import prepare

    keys = ["data.corpus=demo", f"encoder.name={encoder}", *ADAPTER, f"train.seed={seed}"]
    runtime.seed_step(seed)
    model_folder.save(prepare(Recipe.load(find_recipe("span-ner"), keys)).pipeline(), folder)


def memory_of(kind: str, folder: Path, encoder: str) -> None:
    from spanwise.pipeline.adapters import SharedEncoder, check_peft
    from spanwise.pipeline.folder import load  # noqa: F401  (the libraries are part of "none")

    check_peft()
    import peft  # noqa: F401

    shared = SharedEncoder.load(encoder) if kind == "two on one encoder" else None
    names = {"none": [], "one": ["1"]}.get(kind, ["1", "2"])
    models = [Extractor.from_pretrained(folder / name, encoder=shared) for name in names]
    for model in models:
        model(TEXT)
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="conll04")
    parser.add_argument("--recipe", default="span-ner")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--sample", type=int, help="documents of each split")
    parser.add_argument("--set", nargs="*", default=[], help="overrides of the recipe")
    parser.add_argument("--lora", nargs="*", default=["train.encoder_lr=1e-3"], help="overrides for the adapter alone")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    runtime.set_threads(options.threads)
    if options.memory_of:
        memory_of(options.memory_of, options.folder, options.encoder)
    elif options.memory:
        memory(options.encoder)
    else:
        compare(options)


if __name__ == "__main__":
    main()
