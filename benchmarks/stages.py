"""Profile extraction: the share of each stage, on PyTorch or ONNX Runtime.

    python benchmarks/stages.py --model exported --corpus conll04 --threads 1 --rounds 5

The encoder is measured alone on the same batches; scoring is the rest of the model's stages. The output is a Markdown
table with medians over the rounds. Words that were seen before are not tokenized again, as in a long run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from engines import BARE, ENGINES, bare_encoders, exported
from spanwise import corpora, runtime
from spanwise.document import Document
from spanwise.inference.extractor import Extractor
from spanwise.pipeline import pipeline as reading
from spanwise.pipeline.onnx_runner import OnnxRunner
from spanwise.pipeline.torch_runner import TorchRunner
from spanwise.text import examples
from spanwise.text.pieces import WordPieces

WATCHED = (  # where, what, and the stage that it is
    (examples, "ensure_words", "segmentation"),
    (WordPieces, "__call__", "tokenization"),
    (examples.ExampleBuilder, "examples", "examples"),
    (reading, "collate", "collation"),
    (reading, "run_stages", "stages"),
    (reading, "predicted_document", "building documents"),
    *((kind, method, "model") for kind in (OnnxRunner, TorchRunner) for method in ("forward", "rescore")),
)


@contextmanager
def watched(spent: Counter[str]) -> Iterator[None]:
    """Count the seconds of each stage, those inside it included."""

    def watch(function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                spent[stage] += time.perf_counter() - began

        return call

    with ExitStack() as stack:
        for place, name, stage in WATCHED:
            stack.enter_context(patch.object(place, name, watch(getattr(place, name), stage)))
        yield


def profile(extractor: Extractor, documents: list[Document], encoder: Callable[[], None]) -> dict[str, float]:
    """The seconds of each stage of one pass."""
    spent: Counter[str] = Counter()
    began = time.perf_counter()
    with watched(spent):
        extractor(documents)
    whole = time.perf_counter() - began
    began = time.perf_counter()
    encoder()
    alone = time.perf_counter() - began
    found = {
        "segmentation": spent["segmentation"],
        "tokenization": spent["tokenization"],
        "windows": spent["examples"] - spent["segmentation"] - spent["tokenization"],
        "collation": spent["collation"],
        "encoder": alone,
        "scoring": spent["model"] - alone,
        "decoding": spent["stages"] - spent["model"],
        "building documents": spent["building documents"],
    }
    return {**found, "rest": whole - sum(found.values()), "all": whole}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="a trained folder, which is exported for the others")
    parser.add_argument("--corpus", default="conll04")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    runtime.set_threads(options.threads)
    documents = [document.with_annotations() for document in corpora.load(options.corpus).split("test")]
    extractor = Extractor.from_pretrained(options.model, threads=options.threads)
    columns = {}
    with TemporaryDirectory() as temporary:
        engines = exported(extractor, Path(temporary), (), options.threads)
        bare = bare_encoders(extractor, Path(temporary) / "bare", documents, options.threads)
        for engine, alone in zip(ENGINES, BARE, strict=True):
            turns = [profile(engines[engine], documents, bare[alone]) for _ in range(options.rounds + 1)][1:]
            columns[engine] = {stage: statistics.median(turn[stage] for turn in turns) for stage in turns[0]}
    print(f"| stage | {' | '.join(columns)} |\n|---{'|---:' * len(columns)}|")
    for stage in columns[ENGINES[0]]:
        cells = (f"{100 * times[stage] / times['all']:.1f} %" for times in columns.values())
        print(f"| {stage} | {' | '.join(cells)} |")
    print(f"| seconds | {' | '.join(format(times['all'], '.2f') for times in columns.values())} |")


if __name__ == "__main__":
    main()
