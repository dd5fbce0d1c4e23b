"""The learning curve of active learning: F1 against the number of labeled texts, chosen actively or at random.

    python benchmarks/active.py --corpus conll04 --seeds 1 2 3 --svg docs/figures/active-conll04.svg --out active.jsonl
    python benchmarks/active.py --corpus conll04 --seeds 1 --start 20 --step 20 --rounds 2 --steps 20 --sample 100

Both strategies begin with the same `--start` random sentences of train. In each round a new model is trained on what is
labeled, scored on test, and `--step` more sentences of train get their gold labels: random ones, or those that
`spanwise suggest` chooses. Every model takes about the same number of optimizer steps, and keeps its last epoch. The
output is a Markdown table of means over seeds with standard deviations, and a plot. Each scored model is a line of
`--out`; if it is started again with the same options, runs that are there are not repeated.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from spanwise import Corpus, Document, Extractor, Recipe, corpora, evaluate, runtime, train
from spanwise.files import write_text
from spanwise.inference.suggestion import suggest
from spanwise.recipe import find_recipe
from spanwise.render.charts import to_svg
from spanwise.render.elements import Interval, Lines, Series
from spanwise.training.reporting import NullListener

Curves = dict[str, dict[int, list[float]]]  # strategy: labeled texts: F1 of each seed


def curve(options: argparse.Namespace, strategy: str, seed: int, whole: Corpus) -> Iterator[tuple[int, float]]:
    """The number of labeled texts and the F1 on test, round by round."""
    pool = list(whole.split("train")[: options.sample])
    test = list(whole.split("test")[: options.sample])
    shuffled = pool.copy()
    random.Random(seed).shuffle(shuffled)  # noqa: S311
    labeled = shuffled[: options.start]
    for number in range(options.rounds + 1):
        with tempfile.TemporaryDirectory() as folder:
            extractor = trained(options, labeled, whole, seed, Path(folder) / "run")
        yield len(labeled), evaluate(extractor, test).entities.micro.f1
        if number < options.rounds:
            labeled = labeled + chosen(options, strategy, extractor, shuffled, labeled)


def trained(
    options: argparse.Namespace, labeled: Sequence[Document], whole: Corpus, seed: int, folder: Path
) -> Extractor:
    """A model of the labeled texts alone, for about as many steps whatever their number."""
    corpus = Corpus(whole.name, {"train": tuple(labeled)}, whole.schema)
    keys = [f"data.corpus={whole.name}", f"train.seed={seed}", *options.set]
    batch_size = Recipe.load(find_recipe(options.recipe), keys).train.batch_size
    epochs = max(1, round(options.steps * batch_size / len(labeled)))
    train(Recipe.load(find_recipe(options.recipe), [*keys, f"train.epochs={epochs}"]), folder, NullListener(), corpus)
    return Extractor.from_pretrained(folder)


def chosen(
    options: argparse.Namespace,
    strategy: str,
    extractor: Extractor,
    pool: Sequence[Document],
    labeled: Sequence[Document],
) -> list[Document]:
    """The next texts, with their gold labels."""
    known = {document.text for document in labeled}
    left = {document.text: document for document in pool if document.text not in known}
    if strategy == "random":
        return list(left.values())[: options.step]
    bare = (document.with_annotations(()) for document in left.values())
    return [left[document.text] for document in suggest(extractor, bare, options.step, by=strategy)]


def recorded(options: argparse.Namespace) -> dict[tuple[str, int], list[tuple[int, float]]]:
    """The finished curves of earlier runs with the same options."""
    curves: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
    lines = options.out.read_text(encoding="utf-8").splitlines() if options.out and options.out.exists() else []
    for row in map(json.loads, lines):
        if row["options"] == settings(options):
            curves[row["strategy"], row["seed"]][row["labeled"]] = row["f1"]
    return {key: sorted(rows.items()) for key, rows in curves.items() if len(rows) == options.rounds + 1}


def settings(options: argparse.Namespace) -> dict[str, object]:
    names = ("corpus", "recipe", "start", "step", "rounds", "steps", "sample", "set")
    return {name: getattr(options, name) for name in names}


def measure(options: argparse.Namespace) -> Curves:
    done, found = recorded(options), defaultdict(lambda: defaultdict(list))
    whole = corpora.load(options.corpus)
    for seed in options.seeds:
        for strategy in ("random", *options.by):
            rows = done.get((strategy, seed)) or []
            for labeled, f1 in rows or curve(options, strategy, seed, whole):
                found[strategy][labeled].append(f1)
                line = {"strategy": strategy, "seed": seed, "labeled": labeled, "f1": round(f1, 5)}
                if not rows and options.out:
                    with options.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps({**line, "options": settings(options)}) + "\n")
    return found


def spread(values: Sequence[float]) -> Interval:
    mean = 100 * statistics.mean(values)
    deviation = 100 * statistics.stdev(values) if len(values) > 1 else 0.0
    return Interval(mean, mean - deviation, mean + deviation)


def report(options: argparse.Namespace, found: Curves) -> None:
    """A table, and the plot if it has a place."""
    sizes = sorted({size for rows in found.values() for size in rows})
    print(f"| labeled | {' | '.join(found)} |\n|{'---|' * (len(found) + 1)}")
    for size in sizes:
        cells = [spread(rows[size]) if size in rows else None for rows in found.values()]
        shown = (f"{cell.value:.2f} ± {cell.value - cell.low:.2f}" if cell else "" for cell in cells)
        print(f"| {size} | {' | '.join(shown)} |")
    if options.svg:
        series = tuple(
            Series(name, tuple(spread(rows[size]) if size in rows else None for size in sizes))
            for name, rows in found.items()
        )
        title = f"F1 on {options.corpus}, {len(options.seeds)} seeds"
        write_text(options.svg, to_svg(Lines(title, tuple(map(float, sizes)), series, x_title="labeled texts")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="conll04")
    parser.add_argument("--recipe", default="span-ner")
    parser.add_argument("--by", nargs="+", choices=("entropy", "margin"), default=["entropy", "margin"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--start", type=int, default=50, help="random texts to begin with")
    parser.add_argument("--step", type=int, default=50, help="texts that are labeled in a round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=300, help="optimizer steps of each model, about")
    parser.add_argument("--sample", type=int, help="only so many texts of train and of test")
    parser.add_argument("--set", nargs="*", default=[], help="overrides of the recipe")
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--out", type=Path, help="JSON lines, one per model")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    runtime.set_threads(options.threads)
    report(options, measure(options))


if __name__ == "__main__":
    main()
