"""The speed of `nlp.pipe` with the spaCy component beside that of `extractor.stream`.

    python benchmarks/spacy_speed.py --texts 1000 --repeats 5

Both read the same texts in turns, in one process, with one model. The model is untrained, because speed does not depend
on training. The ratio counts everything that `nlp.pipe` does: tokens, the model, and writing spans into the Docs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import spacy

from spanwise import Extractor, corpora, runtime
from throughput import MODELS, build
from timing import seconds


def measure(extractor: Extractor, texts: list[str], repeats: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "model"
        extractor.save_pretrained(folder)
        nlp = spacy.blank("en")
        nlp.add_pipe("spanwise", config={"model": str(folder)})
        nlp(texts[0])  # loads the model
    tasks = (lambda: list(extractor.stream(texts)), lambda: list(nlp.pipe(texts)))
    for task in tasks:
        task()
    rows = [[seconds(task) for task in tasks] for _ in range(repeats)]
    stream, pipe = (statistics.median(row[place] for row in rows) for place in (0, 1))
    ratios = sorted(row[0] / row[1] for row in rows)
    return {
        "stream, texts/s": round(len(texts) / stream, 1),
        "pipe, texts/s": round(len(texts) / pipe, 1),
        "ratio": round(statistics.median(ratios), 3),
        "lowest ratio": round(ratios[0], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="conll04")
    parser.add_argument("--model", choices=MODELS, default="span-ner")
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    runtime.set_threads(options.threads)
    corpus = corpora.load(options.corpus)
    texts = [document.text for document in corpus.split("train")]
    texts = (texts * (1 + options.texts // len(texts)))[: options.texts]
    extractor = build(options.model, MODELS[options.model], corpus)
    print(json.dumps({"texts": len(texts), **measure(extractor, texts, options.repeats)}))


if __name__ == "__main__":
    main()
