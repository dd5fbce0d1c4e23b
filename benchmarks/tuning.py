"""Measure what `spanwise tune` changes: thresholds and temperature chosen on dev, F1 and calibration error on test.

    python benchmarks/tuning.py --model runs/wnut17 --corpus wnut17 --model runs/genia --corpus genia

Prints a Markdown table. The model folders are not changed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spanwise import corpora, runtime
from spanwise.document import Document
from spanwise.evaluation import Effect, Objective, tune, tuning_effects
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.tuning import Tuning

HEADER = ("model", "corpus", "scored", "setting", "T", "dev F1", "test F1", "dev ECE", "test ECE")


@dataclass(frozen=True)
class Setting:
    """A tuning, and its effect on the data it was chosen on and on other data."""

    name: str
    tuning: Tuning
    dev: Effect
    test: Effect


def settings(extractor: Extractor, dev: Sequence[Document], test: Sequence[Document]) -> list[Setting]:
    """The model as it was trained, with a temperature, with thresholds, and with both."""
    extractor = extractor.with_tuning(Tuning())
    both, thresholds = (tune(extractor, dev, Objective(), temperature=scale, progress=show) for scale in (True, False))
    chosen = {
        "as trained": (Tuning(), both.before),
        "temperature": (both.temperatures, both.calibrated),
        "thresholds": (thresholds.tuning, thresholds.after),
        "temperature and thresholds": (both.tuning, both.after),
    }
    effects = tuning_effects(extractor, test, [tuning for tuning, _ in chosen.values()], show)
    rows = zip(chosen.items(), effects, strict=True)
    return [Setting(name, tuning, on_dev, on_test) for (name, (tuning, on_dev)), on_test in rows]


def show(stage: str, done: int, total: int) -> None:
    print(f"\r{stage}: {done}/{total}".ljust(60), end="", file=sys.stderr, flush=True)


def lines(name: str, corpus: str, rows: Sequence[Setting]) -> list[tuple[str, ...]]:
    found = [
        (
            *(name, corpus, "entities", row.name, f"{row.tuning.temperature:.2f}"),
            *(percent(effect.scores.entities.micro.f1) for effect in (row.dev, row.test)),
            *(number(effect.calibration_error) for effect in (row.dev, row.test)),
        )
        for row in rows
    ]
    found += [
        (
            *(name, corpus, "RE+", row.name, f"{row.tuning.relation_temperature:.2f}"),
            *(percent(scores.strict.micro.f1) for scores in (row.dev.scores.relations, row.test.scores.relations)),
            *(number(effect.relation_calibration_error) for effect in (row.dev, row.test)),
        )
        for row in rows
        if row.dev.scores.relations and row.test.scores.relations
    ]
    return found


def percent(value: float) -> str:
    return f"{100 * value:.2f}"


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", required=True, help="a model folder; may be repeated")
    parser.add_argument("--corpus", action="append", required=True, help="its corpus, in the same order")
    parser.add_argument("--limit", type=int, help="use the first documents of dev and test only")
    options = parser.parse_args()
    if len(options.model) != len(options.corpus):
        parser.error("give one --corpus for each --model")
    runtime.set_threads()
    table = [HEADER, ("---",) * 4 + ("---:",) * 5]
    for model, corpus in zip(options.model, options.corpus, strict=True):
        data = corpora.load(corpus)
        dev, test = (list(data.split(split))[: options.limit] for split in ("dev", "test"))
        extractor = Extractor.from_pretrained(model)
        name = f"{extractor.pipeline.reader.name} ({Path(model).name})"
        table += lines(name, corpus, settings(extractor, dev, test))
    print(file=sys.stderr)
    for row in table:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
