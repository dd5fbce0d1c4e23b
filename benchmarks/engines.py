"""Compare the engines on trained models: PyTorch, ONNX Runtime in fp32 and in int8, beside the bare encoder.

    python benchmarks/engines.py --corpus conll04 --model runs/span-ner --model runs/lear --threads 1 --rounds 5

Each model is exported twice into a temporary folder; int8 is checked on dev. All engines take turns at the texts of the
test split, in one process. The output is a Markdown table of words per second, with ratios measured within a round, and
of F1 on test.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from spanwise import corpora, runtime
from spanwise.document import Document
from spanwise.evaluation import evaluate
from spanwise.evaluation.exporting import export_model
from spanwise.inference.extractor import Extractor, chunks
from spanwise.pipeline.batches import prediction_batches
from spanwise.pipeline.collate import collate
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.seam.batch import Words
from timing import seconds

ENGINES = ("torch", "ONNX fp32", "ONNX int8")
BARE = ("bare encoder, torch", "bare encoder, ONNX fp32", "bare encoder, ONNX int8")


def exported(extractor: Extractor, folder: Path, dev: Sequence[Document], threads: int) -> dict[str, Extractor]:
    """The model on the three engines."""
    engines = {"torch": extractor}
    for name, int8 in (("ONNX fp32", False), ("ONNX int8", True)):
        result = export_model(extractor, folder / name, int8=int8, gold=dev if int8 else ())
        if result.excluded:
            print(f"{extractor.pipeline.reader.name}, int8: {', '.join(result.excluded)} in fp32", file=sys.stderr)
        engines[name] = Extractor.from_pretrained(folder / name, threads=threads)
    return engines


def bare_encoders(
    extractor: Extractor, folder: Path, documents: list[Document], threads: int
) -> dict[str, Callable[[], None]]:
    """The transformer alone on the batches of the extractor, which are made before."""
    from onnxruntime import InferenceSession, SessionOptions

    from spanwise.inference.quantization import quantize_graphs
    from spanwise.pipeline.onnx_runner import FORWARD, SLOW_FUSIONS

    assert isinstance(extractor.pipeline, TorchPipeline)
    transformer = extractor.pipeline.model.encoder.transformer
    batches = [(words.pieces, words.piece_mask) for words in words_of(extractor, documents)]
    options = SessionOptions()
    options.intra_op_num_threads, options.enable_mem_pattern, options.log_severity_level = threads, False, 3

    def run_torch() -> None:
        with torch.inference_mode():
            for pieces, mask in batches:
                transformer(input_ids=torch.from_numpy(pieces), attention_mask=torch.from_numpy(mask))

    def run_onnx(path: Path) -> Callable[[], None]:
        session = InferenceSession(str(path), options, ["CPUExecutionProvider"], disabled_optimizers=SLOW_FUSIONS)
        names = [node.name for node in session.get_inputs()]

        def run() -> None:
            for batch in batches:
                session.run(None, dict(zip(names, batch, strict=True)))

        return run

    export_encoder(transformer, folder / FORWARD)
    quantize_graphs(folder, folder / "int8")
    return dict(zip(BARE, (run_torch, run_onnx(folder / FORWARD), run_onnx(folder / "int8" / FORWARD)), strict=True))


class Bare(torch.nn.Module):
    """Word pieces in, their vectors out."""

    def __init__(self, transformer: torch.nn.Module) -> None:
        super().__init__()
        self.transformer = transformer

    def forward(self, pieces: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        vectors: torch.Tensor = self.transformer(input_ids=pieces, attention_mask=mask).last_hidden_state
        return vectors


def export_encoder(transformer: torch.nn.Module, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    sample = torch.ones(2, 9, dtype=torch.long)
    axes = dict.fromkeys(range(2), torch.export.Dim.AUTO)
    before = transformer.config._attn_implementation
    transformer.set_attn_implementation("eager")
    torch.onnx.export(
        Bare(transformer).eval(),
        (sample, sample.clone()),
        path,
        dynamo=True,
        dynamic_shapes=(axes, axes),
        input_names=["pieces", "mask"],
        external_data=False,
        verbose=False,
    )
    transformer.set_attn_implementation(before)


def words_of(extractor: Extractor, documents: list[Document]) -> Iterator[Words[Any]]:
    """The word pieces of the batches that the extractor reads."""
    pipeline = extractor.pipeline
    for chunk in chunks(documents):
        examples = [example for document in chunk for example in pipeline.task.builder.examples(document)]
        for rows in prediction_batches(examples, extractor.token_budget):
            yield collate([examples[i] for i in rows], pipeline.pieces, None).words


def in_rounds(tasks: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """The seconds of each task in each round; the order changes from round to round, and a first round is left out."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    names = list(tasks)
    for number in range(rounds + 1):
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            took = seconds(tasks[name])
            if number:
                times[name].append(took)
    return times


def ratio(times: Mapping[str, Sequence[float]], slow: str, fast: str) -> str:
    """How many times as fast: the median over the rounds, with the lowest and the highest."""
    each = [one / other for one, other in zip(times[slow], times[fast], strict=True)]
    return f"{statistics.median(each):.2f} ({min(each):.2f}–{max(each):.2f})"


def rows(model: Path, corpus: corpora.Corpus, threads: int, rounds: int) -> list[tuple[str, ...]]:
    extractor = Extractor.from_pretrained(model, threads=threads)
    gold = list(corpus.split("test"))
    documents = [document.with_annotations() for document in gold]
    words = sum(len(document.words) or len(document.text.split()) for document in documents)
    with TemporaryDirectory() as temporary:
        engines = exported(extractor, Path(temporary), list(corpus.split("dev")), threads)
        bare = bare_encoders(extractor, Path(temporary) / "bare", documents, threads)
        tasks = {name: lambda e=engine: e(documents) for name, engine in engines.items()} | bare
        times = in_rounds(tasks, rounds)
        scores = {name: evaluate(engine, gold).entities.micro.f1 for name, engine in engines.items()}
    name = extractor.pipeline.reader.name
    return [
        (
            *(name, engine, f"{words / statistics.median(times[engine]):,.0f}"),
            ratio(times, "torch", engine),
            ratio(times, BARE[ENGINES.index(engine)], engine) if engine in ENGINES else "",
            f"{100 * scores[engine]:.2f}" if engine in scores else "",
        )
        for engine in tasks
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="conll04")
    parser.add_argument("--model", type=Path, action="append", required=True, help="a trained folder; may be repeated")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    runtime.set_threads(options.threads)
    corpus = corpora.load(options.corpus)
    print("| model | engine | words/s | times torch | share of its bare encoder | test F1 |")
    print("|---|---|---:|---:|---:|---:|")
    for model in options.model:
        for row in rows(model, corpus, options.threads, options.rounds):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
