"""The cost of labels as input: extraction with label texts beside fixed labels, and the memory of many label sets.

    spanwise train span-ner --set data.corpus=open/fewnerd --set train.epochs=2 --out runs/fixed
    python benchmarks/open_labels.py --fixed runs/fixed --open general --corpus conll04 --threads 1 --rounds 5

`--fixed` is a model with its own labels (fewnerd has 30), `--open` one that is asked for the same labels by name. Both
take turns at the texts of a test split, in PyTorch and as fp32 exports. Then `--sets` different label sets of 30 labels
each are asked of the open model, one after the other.
"""

from __future__ import annotations

import argparse
import resource
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from engines import in_rounds, ratio
from spanwise import corpora, runtime
from spanwise.document import Document
from spanwise.evaluation.exporting import export_model
from spanwise.inference.extractor import Extractor

MARKS = 10  # how often the memory is printed
WORDS = (
    "river",
    "court",
    "drug",
    "person",
    "city",
    "disease",
    "film",
    "song",
    "ship",
    "weapon",
    "tax",
    "crime",
    "bird",
)


def compare(options: argparse.Namespace, documents: list[Document]) -> None:
    """A table of words per second, with the ratio to the fixed labels of the same engine."""
    fixed = Extractor.from_pretrained(options.fixed, threads=options.threads)
    opened = Extractor.from_pretrained(options.open, threads=options.threads)
    labels = [kind.plain_name for kind in fixed.schema.entities]
    words = sum(len(document.words) for document in documents)
    with TemporaryDirectory() as temporary:
        models = {}
        for name, extractor in (("fixed", fixed), ("texts", opened)):
            folder = Path(temporary) / name
            export_model(extractor, folder)
            models[f"{name}, torch"] = extractor
            models[f"{name}, ONNX fp32"] = Extractor.from_pretrained(folder, threads=options.threads)
        asked = {name: each.with_labels(labels) if name.startswith("texts") else each for name, each in models.items()}
        times = in_rounds({name: lambda e=each: e(documents) for name, each in asked.items()}, options.rounds)
    print(f"{len(labels)} labels, {len(documents)} texts, {words:,} words")
    print("| labels | engine | words/s | time relative to fixed labels |\n|---|---|---:|---:|")
    for engine in ("torch", "ONNX fp32"):
        for name in ("fixed", "texts"):
            key = f"{name}, {engine}"
            speed = words / statistics.median(times[key])
            print(f"| {name} | {engine} | {speed:,.0f} | {ratio(times, key, f'fixed, {engine}')} |", flush=True)


def many_sets(options: argparse.Namespace, document: Document) -> None:
    """Peak memory while one text is read with ever new label sets."""
    extractor, rng = Extractor.from_pretrained(options.open, threads=options.threads), np.random.default_rng(1)
    print("\n| label sets | peak MB |\n|---:|---:|")
    for number in range(1, options.sets + 1):
        labels = {f"{i} {' '.join(rng.choice(WORDS, 2))}" for i in range(30)}
        extractor(document, labels=sorted(labels))
        if number % max(1, options.sets // MARKS) == 0:
            print(f"| {number:,} | {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fixed", required=True, help="a model folder with fixed labels")
    parser.add_argument("--open", default="general", help="a model folder with open labels (default: general)")
    parser.add_argument("--corpus", default="conll04", help="its test split is read (default: conll04)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sets", type=int, default=1000, help="label sets for the memory (default: 1000; 0: none)")
    options = parser.parse_args()
    runtime.set_threads(options.threads)
    documents = [document.with_annotations() for document in corpora.load(options.corpus).split("test")]
    compare(options, documents)
    if options.sets:
        many_sets(options, documents[0])


if __name__ == "__main__":
    main()
