"""Measure an extractor's speed relative to the bare encoder, and whether memory grows with the number of texts.

    python benchmarks/throughput.py --corpus wnut17 --texts 2000 --repeats 5

Encoder and extractor run alternately on the same batches in one process. The output is the ratio of their speeds, with
its spread. The models are untrained, because speed does not depend on training.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
from collections.abc import Callable, Iterator

import torch

from spanwise import corpora, runtime
from spanwise.document import Document
from spanwise.inference.extractor import Extractor, chunks
from spanwise.pipeline.batches import prediction_batches
from spanwise.pipeline.blueprint import Blueprint
from spanwise.pipeline.collate import collate
from spanwise.pipeline.encoders import load_pretrained
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import EncoderConfig, Recipe
from spanwise.text.profile import DataProfile
from timing import seconds

MODELS = {"seq-ner": {}, "span-ner": {"max_width": 10}}


def build(name: str, options: dict[str, object], corpus: corpora.Corpus) -> Extractor:
    recipe = Recipe.parse({"model": {"name": name, **options}, "data": {"corpus": corpus.name}})
    blueprint = Blueprint.from_recipe(recipe, DataProfile(widths={1: 1}))
    return Extractor(TorchPipeline(blueprint, corpus.schema, *load_pretrained(EncoderConfig().name)))


@torch.inference_mode()
def bare_encoder(extractor: Extractor, documents: list[Document]) -> Callable[[], None]:
    """The transformer alone, on the batches of the extractor, which are prepared in advance."""
    pipeline = extractor.pipeline
    pipeline.model.eval()
    batches = []
    for chunk in chunks(documents):
        examples = [example for document in chunk for example in pipeline.task.builder.examples(document)]
        batches += [
            collate([examples[i] for i in batch], pipeline.pieces, None).words.map(torch.from_numpy)
            for batch in prediction_batches(examples, extractor.token_budget)
        ]

    def run() -> None:
        for words in batches:
            pipeline.model.encoder.transformer(input_ids=words.pieces, attention_mask=words.piece_mask)

    return torch.inference_mode()(run)


def compare(extractor: Extractor, documents: list[Document], repeats: int) -> dict[str, float]:
    bare = bare_encoder(extractor, documents)
    whole = lambda: extractor(documents)  # noqa: E731
    bare(), whole()
    times = [(seconds(bare), seconds(whole)) for _ in range(repeats)]
    ratios = [encoder / extraction for encoder, extraction in times]
    return {
        "sentences_per_second": len(documents) / statistics.median(extraction for _, extraction in times),
        "ratio": statistics.median(ratios),
        "lowest": min(ratios),
        "highest": max(ratios),
    }


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory(extractor: Extractor, documents: list[Document], rounds: int) -> list[float]:
    """Peak memory after each round of streaming all documents."""

    def endless() -> Iterator[Document]:
        for _ in range(rounds):
            yield from documents

    peaks = []
    for index, _ in enumerate(extractor.stream(endless()), start=1):
        if index % len(documents) == 0:
            peaks.append(peak_megabytes())
    return peaks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="wnut17")
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    threads = runtime.set_threads()
    corpus = corpora.load(options.corpus)
    documents = [document.with_annotations() for document in corpus.split("train")][: options.texts]
    result: dict[str, object] = {"texts": len(documents), "threads": threads}
    for name, settings in MODELS.items():
        extractor = build(name, dict(settings), corpus)
        result[name] = compare(extractor, documents, options.repeats)
        result[f"{name} peak MB per {len(documents)} texts"] = memory(extractor, documents, 3)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
