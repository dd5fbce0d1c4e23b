"""Long documents train as well as their sentences: dev F1 of one recipe on both.

    python benchmarks/long_documents.py --sentences 1000 --join 80 --epochs 2
    python benchmarks/long_documents.py --sentences 4560 --join 10 --epochs 3 --init

Sentences of a corpus are joined, `--join` neighbors to a document. The same recipe is trained on the sentences, on the
documents, and on the documents with `encoder.window: sentence`; each model is scored on dev documents of its own kind.
With `--init` the recipes are those that `spanwise init` writes for the two kinds of documents.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from spanwise import Corpus, Document, Entity, Offsets, Recipe, corpora, formats, runtime, train
from spanwise.recipe import find_recipe
from spanwise.training.reporting import NullListener

SPLITS = ("train", "dev")


def joined(sentences: Sequence[Document], size: int) -> Iterator[Document]:
    """Documents of `size` neighbors each, with a space between sentences."""
    rest = iter(sentences)
    while group := list(islice(rest, size)):
        text, words, entities = "", [], []
        for sentence in group:
            at = len(text) + bool(text)
            text = f"{text} {sentence.text}" if text else sentence.text
            words += [Offsets(word.start + at, word.end + at) for word in sentence.words]
            entities += [Entity(e.start + at, e.end + at, e.label) for e in sentence.entities]
        yield Document(text, tuple(words), tuple(entities), id=group[0].id)


def trained(name: str, corpus: Corpus, recipe: Recipe) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        summary = train(recipe, Path(folder) / "run", NullListener(), corpus)
    return {"data": name, **asdict(summary)}


def written_by_init(corpus: Corpus, overrides: Sequence[str]) -> Recipe:
    """The recipe that `spanwise init` writes for these documents."""
    from spanwise.recipe.advice import recommend
    from spanwise.text.alignment import align
    from spanwise.text.profile import profile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {split: [folder / f"{split}.jsonl"] for split in SPLITS}
        for split, (path,) in files.items():
            formats.write(corpus.split(split), path)
        path = folder / "recipe.yaml"
        path.write_text(recommend(profile(map(align, corpus.split("train"))), files, path), encoding="utf-8")
        return Recipe.load(path, overrides)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="bc5cdr")
    parser.add_argument("--sentences", type=int, default=1000, help="training sentences; half as many of dev")
    parser.add_argument("--join", type=int, default=80, help="sentences of one document")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--recipe", default="span-ner")
    parser.add_argument("--init", action="store_true", help="the recipes of `spanwise init` instead")
    parser.add_argument("--kinds", nargs="+", default=["sentences", "documents", "by sentence"])
    parser.add_argument("--set", nargs="*", default=[], help="overrides of the recipe")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    runtime.set_threads(options.threads)
    whole = corpora.load(options.corpus)
    sizes = {"train": options.sentences, "dev": options.sentences // 2}
    sentences = {split: whole.split(split)[:size] for split, size in sizes.items()}
    documents = {split: tuple(joined(rows, options.join)) for split, rows in sentences.items()}
    kinds = {"sentences": sentences, "documents": documents, "by sentence": documents}
    for kind in options.kinds:
        corpus = Corpus(options.corpus, kinds[kind], whole.schema)
        window = ["encoder.window=sentence"] if kind == "by sentence" else []
        chosen = [f"train.epochs={options.epochs}", *window, *options.set]
        recipe = written_by_init(corpus, [*window, *options.set]) if options.init else None
        recipe = recipe or Recipe.load(find_recipe(options.recipe), chosen)
        print(json.dumps(trained(kind, corpus, recipe)), flush=True)


if __name__ == "__main__":
    main()
