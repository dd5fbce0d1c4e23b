"""Measure the cost of deep spans (DSpERT), relative to the shallow model of the same size and to operation counts.

    python benchmarks/deep_speed.py --depths 2 4 6 --widths 10 --plot docs/figures/deep_depth.svg
    python benchmarks/deep_speed.py --depths 6 --widths 2 5 10 15 --plot docs/figures/deep_width.svg
    python benchmarks/deep_speed.py --depths 6 --widths 10 --negatives 100 --screening-threshold 1e-4
    python benchmarks/deep_speed.py --trained runs/deep runs/shallow --texts 256

The texts are GENIA's test sentences; training steps use batches of similar length, as in training. Models take turns in
one process. The baseline is max-pooling over the top words (`depth: 0`) with the same widths and all spans. The output
is the ratio of times to the baseline, its spread over the repeats, and the ratio of multiply-adds in matrix products
(`counted`). Weights are untrained, except with `--trained`, which loads two model folders. It times the screening with
learned scores, and also reports the share of gold spans in dev and test that the screening keeps, and F1 with and
without it.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from spanwise import corpora, runtime
from spanwise.document import Document
from spanwise.evaluation import evaluate
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.batches import prediction_batches
from spanwise.pipeline.blueprint import Blueprint
from spanwise.pipeline.encoders import load_pretrained
from spanwise.pipeline.pipeline import TOKEN_BUDGET
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import EncoderConfig, ModelSection
from spanwise.seam.batch import Array, Batch
from spanwise.text.alignment import align, ensure_words
from timing import Timed, gold_examples, in_turn

SHALLOW, FILTERED, UNFILTERED = "shallow", "deep, filtered", "deep, all spans"
BATCH = 16
THRESHOLDS = (1e-2, 1e-3, 1e-4)


def timed(documents: list[Document], **options: Any) -> Timed:
    runtime.seed_step(1)
    section = ModelSection(name="dspert", nested=True, **options)
    blueprint = Blueprint(EncoderConfig(freeze_embeddings=True), section, None)
    return Timed(TorchPipeline(blueprint, corpora.load("genia").schema, *load_pretrained("minilm")), documents, BATCH)


@torch.inference_mode()
def deep_spans(pipeline: TorchPipeline, batch: Batch[Array]) -> Array:
    """The spans that stage two scores: those that training samples, or those that pass the screening. -> [K, 3]"""
    if pipeline.model.training:
        tensors = batch.map(torch.from_numpy)
        sampled: Array = pipeline.model.training_rows(pipeline.model(tensors), tensors).spans.numpy()
        return sampled
    scores = pipeline.runner.forward(batch).scores
    proposal = pipeline.reader.decoder.propose(scores, batch, pipeline.thresholds(None, None))
    return np.concatenate([np.zeros((0, 3), np.int64), *(rows.spans for rows in proposal.rows)])


def operations(pipeline: TorchPipeline, batch: Batch[Array]) -> float:
    """Multiply-adds in the matrix products of one forward pass over a batch; a span attends to K words."""
    config, model = pipeline.model.encoder.transformer.config, pipeline.model
    spans = deep_spans(pipeline, batch)
    d, inner = config.hidden_size, config.intermediate_size
    pieces, length = batch.words.pieces.size, batch.words.pieces.shape[1]
    words, widest = batch.words.present.size, model.config.resolved_max_width()
    encoder = config.num_hidden_layers * pieces * (4 * d * d + 2 * d * inner + 2 * length * d)
    wide = int((spans[:, 2] - spans[:, 1] > 1).sum())
    block = words * 2 * d * d + wide * (2 * d * d + 2 * d * inner + 2 * widest * d)
    classifier = len(spans) * weights(model.classifier.reduce, model.classifier.classify)
    total = encoder + model.depth * block + classifier
    if model.screening is not None:
        ends = model.screening.ends
        total += words * weights(ends.first, ends.last)
        total += len(batch.proposals.spans) * weights(ends.width, model.screening.weigh)
    return float(total)


def weights(*layers: torch.nn.Linear) -> int:
    return sum(layer.weight.numel() for layer in layers)


def counted(models: dict[str, Timed]) -> dict[str, dict[str, float]]:
    """The ratio of operations to the shallow model's, over the batches of inference and of training."""
    found: dict[str, dict[str, float]] = {"inference": {}, "training step": {}}
    for name, model in models.items():
        pipeline, examples = model.pipeline, model.examples
        rows = prediction_batches(examples, TOKEN_BUDGET)
        read = [pipeline.training_batch([examples[i] for i in batch]) for batch in rows]
        pipeline.model.eval()
        found["inference"][name] = sum(operations(pipeline, batch) for batch in read)
        learned = [pipeline.training_batch(batch, runtime.seed_step(1)) for batch in model.batches]
        pipeline.model.train()
        found["training step"][name] = sum(operations(pipeline, batch) for batch in learned)
    return {
        kind: {name: round(number / numbers[SHALLOW], 3) for name, number in numbers.items()}
        for kind, numbers in found.items()
    }


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    documents = [ensure_words(document) for document in corpora.load("genia").split("test")[: options.texts]]
    rows = []
    for width in options.widths:
        models = {SHALLOW: timed(documents, max_width=width, depth=0)}
        for depth in options.depths:
            models[f"depth {depth}"] = timed(documents, max_width=width, depth=depth)
            if options.negatives is not None:
                drawn = {"negatives": options.negatives, "screening_threshold": options.screening_threshold}
                few = timed(documents, max_width=width, depth=depth, **drawn)
                models[f"depth {depth}, {options.negatives} negatives"] = few
        row = {
            "width": width,
            "counted": counted(models),
            "inference": in_turn(models, Timed.read, options.repeats, SHALLOW),
            "training step": in_turn(models, Timed.steps, options.repeats, SHALLOW),
        }
        print(json.dumps(row), file=sys.stderr, flush=True)
        rows.append(row)
    return rows


def trained(folders: dict[str, str], options: argparse.Namespace) -> dict[str, Any]:
    """Time on the first texts of test and F1 on all of test; the deep model is also measured without its screening."""
    gold = [ensure_words(document) for document in corpora.load("genia").split("test")]
    extractors = {name: Extractor.from_pretrained(folder) for name, folder in folders.items()}
    unfiltered = extractors[UNFILTERED].pipeline
    decoder = replace(unfiltered.reader.decoder, screening_threshold=None)
    unfiltered.reader = replace(unfiltered.reader, decoder=decoder)
    times = in_turn(extractors, lambda extractor: extractor(gold[: options.texts]), options.repeats, SHALLOW)
    print(json.dumps(times), file=sys.stderr, flush=True)
    scores = {name: evaluate(extractor, gold).entities.micro.f1 for name, extractor in extractors.items()}
    f1 = {name: round(100 * score, 2) for name, score in scores.items()}
    splits = {"dev": [ensure_words(document) for document in corpora.load("genia").split("dev")], "test": gold}
    filtering = {name: kept(extractors[FILTERED].pipeline, documents) for name, documents in splits.items()}
    return {"inference": times, "f1": f1, "kept": filtering}


@torch.inference_mode()
def kept(pipeline: TorchPipeline, gold: list[Document]) -> dict[str, dict[str, float]]:
    """The share of all spans, and of gold spans, that pass the screening at each of THRESHOLDS."""
    pipeline.model.eval()
    examples = gold_examples(pipeline, map(align, gold))
    chances, entities = [], []
    for at in range(0, len(examples), BATCH):
        batch = pipeline.training_batch(examples[at : at + BATCH]).map(torch.from_numpy)
        wanted = {tuple(span[:3]) for span in batch.require_gold().entities.tolist()}
        entities += [tuple(span) in wanted for span in batch.proposals.spans.tolist()]
        chances.append(pipeline.model(batch).scores.screening.sigmoid())
    all_spans = torch.cat(chances)
    gold_spans = all_spans[torch.tensor(entities)]
    return {
        f"{threshold:g}": {"gold kept": share(gold_spans >= threshold), "spans read": share(all_spans >= threshold)}
        for threshold in THRESHOLDS
    }


def share(passed: torch.Tensor) -> float:
    return round(passed.float().mean().item(), 4)


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Plot measured and counted ratios against the depth, or against the width if there are several widths."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    by_width = len(rows) > 1
    figure, axis = plt.subplots(figsize=(5.5, 3.6))
    names = [name for name in rows[0]["inference"] if "negatives" not in name]
    points = [(row, names[-1], row["width"]) for row in rows] if by_width else []
    points = points or [(rows[0], name, int(name.split()[-1]) if name != SHALLOW else 0) for name in names]
    places = [place for *_, place in points]
    for kind in ("inference", "training step"):
        found = [row[kind][name] for row, name, _ in points]
        spread = [[p["ratio"] - p["lowest"] for p in found], [p["highest"] - p["ratio"] for p in found]]
        (line, *_) = axis.errorbar(places, [p["ratio"] for p in found], yerr=spread, marker="o", label=kind)
        operations = [row["counted"][kind][name] for row, name, _ in points]
        axis.plot(places, operations, "--", color=line.get_color(), label=f"{kind}, operations")
    axis.set(
        xlabel="K, the widest span in words" if by_width else "L̃, the blocks that spans pass", ylabel="cost / shallow"
    )
    axis.legend()
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 4, 6])
    parser.add_argument("--widths", type=int, nargs="+", default=[10])
    parser.add_argument("--negatives", type=int, help="also with so many negatives in training")
    parser.add_argument("--screening-threshold", type=float, help="and with screening, which picks half of them")
    parser.add_argument("--trained", nargs=2, metavar=("DEEP", "SHALLOW"), help="model folders to time on GENIA's test")
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    result: dict[str, Any] = {"threads": runtime.set_threads()}
    if options.trained:
        deep, shallow = options.trained
        result |= trained({SHALLOW: shallow, FILTERED: deep, UNFILTERED: deep}, options)
    else:
        result["rows"] = measure(options)
        if options.plot:
            plot(result["rows"], options.plot)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
