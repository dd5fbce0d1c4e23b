"""Measure how the time of one text grows with its length, and whether memory grows with the number of texts.

    python benchmarks/text_length.py --model exported --corpus conll04 --threads 1 --svg docs/figures/text-length.svg

A text is made of sentences of the corpus. The output is two Markdown tables. The figure shows milliseconds per KB: they
stay the same if the cost is linear.
"""

from __future__ import annotations

import argparse
import resource
import statistics
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from spanwise import corpora, runtime
from spanwise.inference.extractor import Extractor
from spanwise.render.charts import to_svg
from spanwise.render.elements import Interval, Lines, Series
from timing import seconds

KILOBYTES = (1, 4, 16, 64, 256, 1024)
TEXTS = (1_000, 10_000, 50_000)


def text_of(sentences: list[str], characters: int) -> str:
    """Sentences again and again, up to so many characters."""
    text, length = [], 0
    for sentence in cycle(sentences):
        text.append(sentence)
        length += len(sentence) + 1
        if length > characters:
            return " ".join(text)[:characters]
    raise ValueError("the corpus has no sentences")


def times(extractor: Extractor, texts: dict[int, str], rounds: int) -> dict[int, list[float]]:
    """Milliseconds per KB of each length in each round; a first round is left out."""
    found: dict[int, list[float]] = {size: [] for size in texts}
    for number in range(rounds + 1):
        for size, text in texts.items():
            repeats = max(1, 64 // size)
            took = seconds(lambda t=text, n=repeats: [extractor(t) for _ in range(n)]) / repeats
            if number:
                found[size].append(1000 * took / size)
    return found


def peaks(extractor: Extractor, sentences: list[str]) -> Iterator[tuple[int, float]]:
    """Peak memory after streaming more and more texts."""
    for number in TEXTS:
        for _ in extractor.stream(islice(cycle(sentences), number)):
            pass
        yield number, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="a trained or an exported folder")
    parser.add_argument("--corpus", default="conll04")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--svg", type=Path, help="file for the figure")
    options = parser.parse_args()
    runtime.set_threads(options.threads)
    extractor = Extractor.from_pretrained(options.model, threads=options.threads)
    sentences = [document.text for document in corpora.load(options.corpus).split("test")]
    print("| texts | peak MB |\n|---:|---:|")
    for number, megabytes in peaks(extractor, sentences):
        print(f"| {number:,} | {megabytes:.0f} |", flush=True)
    found = times(extractor, {size: text_of(sentences, 1024 * size) for size in KILOBYTES}, options.rounds)
    print("\n| KB | ms per KB | lowest | highest |\n|---:|---:|---:|---:|")
    shown = [Interval(statistics.median(each), min(each), max(each)) for each in found.values()]
    for size, each in zip(found, shown, strict=True):
        print(f"| {size:,} | {each.value:.2f} | {each.low:.2f} | {each.high:.2f} |")
    if options.svg:
        series = (Series(extractor.pipeline.reader.name, tuple(shown)),)
        positions = tuple(float(size.bit_length() - 1) for size in found)
        chart = Lines("Time per KB", positions, series, y_title="ms per KB", x_title="log2 of KB of text")
        options.svg.write_text(to_svg(chart), encoding="utf-8")


if __name__ == "__main__":
    main()
