"""Measure the cost of label knowledge (LEAR, Table 3): LEAR and QA relative to the traditional model, as |C| grows.

    python benchmarks/label_speed.py --labels 4 7 33 115 --texts 64 --repeats 3 --plot docs/figures/label_speed.svg
    python benchmarks/label_speed.py --labels 33 --encoder bert-base --models lear traditional
    python benchmarks/label_speed.py --memory --batch 8 --models lear traditional

The labels are the first |C| of GENEVA's event types, with its descriptions; the texts are sentences of its test split.
All models use the same encoder (with random weights for `bert-base`), texts and batches, and take turns in one process.
The output is the ratio of their times to the traditional formalization's, with its spread over the repeats. Inference
runs from documents to documents and includes decoding. The models are untrained. They predict few starts and ends, so
that decoding has about as little work as in a trained model.
`--memory` instead reports the peak memory of one training step and of inference with 115 labels and texts of 256 words.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spanwise import corpora, runtime
from spanwise.document import Document
from spanwise.pipeline.blueprint import Blueprint
from spanwise.pipeline.encoders import load_pretrained, remove_pooler
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import EncoderConfig, ModelSection
from spanwise.schema import Schema
from spanwise.text.alignment import ensure_words
from timing import Timed, in_turn

BASELINE = "traditional"
MODELS = ("traditional", "lear", "qa")
BATCH = 32


def encoder(name: str) -> tuple[Any, Any]:
    """The default encoder, or one of BERT-base's size with random weights and the default's tokenizer."""
    transformer, tokenizer = load_pretrained("minilm")
    if name == "bert-base":
        from transformers import BertConfig, BertModel

        transformer = remove_pooler(BertModel(BertConfig(vocab_size=transformer.config.vocab_size)))
    return transformer, tokenizer


def timed(
    name: str,
    size: str,
    schema: Schema,
    documents: Sequence[Document],
    batch: int = BATCH,
    gradient_checkpointing: bool = False,
) -> Timed:
    """A model with its own copy of the encoder."""
    runtime.seed_step(1)
    blueprint = Blueprint(EncoderConfig(gradient_checkpointing=gradient_checkpointing), ModelSection(name=name), None)
    return Timed(TorchPipeline(blueprint, schema, *encoder(size)), documents, batch)


def corpus(labels: int, texts: int) -> tuple[Schema, list[Document]]:
    """The first labels of GENEVA, and test sentences with only the annotations of these labels."""
    geneva = corpora.load("geneva")
    schema = Schema(geneva.schema.entities[:labels])
    return schema, [ensure_words(d.filter_labels(schema.entity_names)) for d in geneva.split("test")[:texts]]


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for labels in options.labels:
        schema, documents = corpus(labels, options.texts)
        models = {name: timed(name, options.encoder, schema, documents) for name in options.models}
        read = in_turn(models, Timed.read, options.repeats, BASELINE)
        step = in_turn(models, Timed.steps, options.repeats, BASELINE)
        rows.append({"labels": labels, "inference": read, "training step": step})
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def peak(name: str, batch: int, gradient_checkpointing: bool) -> dict[str, Any]:
    """Peak memory of this process in MB: after loading, after inference, and after a training step."""
    schema, documents = corpus(115, 32)
    words = [word for document in documents for word in document.word_texts][:256]
    long = Document.from_words(words)
    model = timed(
        name, "minilm", schema, [replace(long, id=str(n)) for n in range(batch)], batch, gradient_checkpointing
    )
    found = {"loaded": _peak()}
    model.read()
    found["inference"] = _peak()
    model.steps()
    return {"model": name, "texts": batch, **found, "training step": _peak()}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Plot both ratios against |C|, on logarithmic scales."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    for axis, kind in zip(axes, ("inference", "training step"), strict=True):
        for name in rows[0][kind]:
            points = [row[kind][name] for row in rows]
            centre = [point["ratio"] for point in points]
            spread = [[p["ratio"] - p["lowest"] for p in points], [p["highest"] - p["ratio"] for p in points]]
            axis.errorbar([row["labels"] for row in rows], centre, yerr=spread, marker="o", label=name)
        axis.set(xscale="log", yscale="log", title=kind, xlabel="|C|, the number of labels")
    axes[0].set_ylabel("time / traditional")
    axes[0].legend()
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, nargs="+", default=[4, 7, 33, 115])
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--encoder", choices=("minilm", "bert-base"), default="minilm")
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--batch", type=int, default=BATCH, help="texts of 256 words at once, for --memory")
    parser.add_argument(
        "--gradient-checkpointing", action="store_true", help="with encoder.gradient_checkpointing, for --memory"
    )
    parser.add_argument("--peak", choices=MODELS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    threads = runtime.set_threads()
    if options.peak:
        print(json.dumps(peak(options.peak, options.batch, options.gradient_checkpointing)))
        return
    if options.memory:
        for name in options.models:
            given = [
                "--peak",
                name,
                "--batch",
                str(options.batch),
                *["--gradient-checkpointing"] * options.gradient_checkpointing,
            ]
            subprocess.run([sys.executable, __file__, *given], check=True)  # noqa: S603
        return
    rows = measure(options)
    print(json.dumps({"encoder": options.encoder, "threads": threads, "texts": options.texts, "rows": rows}, indent=2))
    if options.plot:
        plot(rows, options.plot)


if __name__ == "__main__":
    main()
