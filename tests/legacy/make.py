"""Makes everything in this folder with the code of spanwise 0.1.0 at commit 0c7b12d; README.md says how to run it.

It takes the tiny encoder and the invented sentences from that commit's own tests.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import chdir, suppress
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import conftest  # of the old tests; sets one thread and no network
from spanwise import Extractor, corpora, formats, runtime
from spanwise.benchmark import append_result, execute, plan
from spanwise.corpora import Corpus
from spanwise.document import Document, Entity
from spanwise.recipe import Recipe
from spanwise.training.reporting import Silent, StepReport
from spanwise.training.run import train
from test_conformance import NESTED_LINKS, linked

ENCODER = "tiny-encoder"
OVERFIT = {"batch_size": 2, "encoder_lr": 3e-3, "task_lr": 1e-2}
STOPPED_AFTER = 38  # of 96 steps, 16 an epoch; the checkpoint is of step 36
TEXTS = (
    "Mara Ostrow met Bo Lind in Brenford .",
    "The University of Brenford opened .",
    "Mara Ostrow of the Bank of Westmoor spoke.",
    "Nobody came.",
    "  Bo Lind ,\n\thead of Acme Brenford ,  agreed: Ada Moss (of Kell Water) did not.",
    "It rained in Westmoor . The mayor of Kell left . Kell Water and Acme Gas merged . " * 3,  # several windows
)
LABELS = {"Town": "towns and countries", "Someone": "people, by name or by office"}
GIVEN = ("Mara Ostrow of the Bank of Westmoor spoke .", {"Mara Ostrow": "Person", "Bank of Westmoor": "Organization"})


def corpus(name: str) -> Corpus:
    """A corpus of the old tests."""
    return conftest._corpus(name, {"flat": conftest.FLAT, "nested": conftest.NESTED}[name])


def recipe(name: str, model: Mapping[str, Any], bundle: Mapping[str, Any] | None = None, **options: Any) -> Recipe:
    """A recipe whose files are named as they lie from the run's own folder."""
    files = [f"../corpora/{name}.jsonl"]
    return Recipe.parse(
        {
            "encoder": {"name": ENCODER},
            "model": {"dropout": 0.0, **model},
            "data": {"train": files, "dev": files},
            "train": OVERFIT | options,
            **({"bundle": bundle} if bundle else {}),
        }
    )


def make_runs() -> None:
    flat, nested = corpus("flat"), corpus("nested")
    joined = linked(nested, NESTED_LINKS)
    for found in (flat, nested, joined):
        formats.write(found.splits["train"], Path("corpora", f"{found.name}.jsonl"))
    tagger = {"name": "seq-ner", "tagging": "crf", "dropout": 0.0}
    asker = {"name": "lear", "shared": True, "nested": True, "match_weight": 10.0}
    deep = {"name": "dspert", "nested": True, "negatives": 6, "keep": 1e-4, "hidden": 48}
    train(recipe("flat", {"name": "span-ner"}, tagger, epochs=40), Path("bundle"), corpus=flat)
    train(recipe("nested", asker, epochs=160, task_lr=3e-3, seed=3), Path("lear-shared"), corpus=nested)
    train(recipe("linked", {"name": "spert", "nested": True}, epochs=45), Path("spert"), corpus=joined)
    train(recipe("nested", deep, epochs=40), Path("dspert"), corpus=nested)


class Stop(Silent):
    """Ends a run from inside, as a signal would."""

    def __init__(self) -> None:
        self.steps = 0

    def step(self, report: StepReport) -> None:
        self.steps += 1
        if self.steps == STOPPED_AFTER:
            raise KeyboardInterrupt


def make_interrupted() -> None:
    """A tagger on the easy corpus, stopped in its third epoch, and what it comes to when it is left alone."""
    files = conftest.easy_files.__wrapped__(SimpleNamespace(mktemp=fresh_folder))
    for split in ("train", "dev"):
        shutil.move(files / f"{split}.jsonl", Path("corpora", f"easy-{split}.jsonl"))
    shutil.rmtree(files)
    easy = corpora.from_files(["corpora/easy-train.jsonl"], ["corpora/easy-dev.jsonl"])
    options = {"epochs": 6, "batch_size": 4, "encoder_lr": 5e-3, "task_lr": 1e-2, "seed": 6, "checkpoint_steps": 4}
    sections = {"encoder": {"name": ENCODER}, "model": {"name": "seq-ner"}, "data": {"corpus": "demo"}}
    whole = Recipe.parse({**sections, "train": options})
    with suppress(KeyboardInterrupt):
        train(whole, Path("interrupted"), Stop(), easy)
    train(whole, Path("uninterrupted"), corpus=easy)
    alone = Path("uninterrupted")
    weights = (alone / "model.safetensors").read_bytes()
    found = Extractor.from_pretrained(alone)(list(easy.splits["dev"]))
    record = {
        "metrics": [json.loads(line) for line in (alone / "metrics.jsonl").read_text().splitlines()],
        "run": json.loads((alone / "run.json").read_text()),
        "sha256": sha256(weights).hexdigest(),
        "dev": [{"id": document.id, "text": document.text, **marks(document)} for document in found],
    }
    shutil.rmtree(alone)
    Path("uninterrupted.safetensors").write_bytes(weights)
    Path("uninterrupted.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def fresh_folder(name: str) -> Path:
    Path(name).mkdir()
    return Path(name)


def marks(document: Document) -> dict[str, Any]:
    return {
        "entities": [[e.start, e.end, e.label, e.score] for e in document.entities],
        "relations": [[r.head, r.tail, r.label, r.score] for r in document.relations],
    }


def predictions() -> Iterable[dict[str, Any]]:
    """What each model says about each text on its own; of lear-shared also under other labels, of spert also given."""
    for folder in ("bundle", "lear-shared", "spert", "dspert"):
        extractor = Extractor.from_pretrained(folder)
        for text in TEXTS:
            yield {"folder": folder, "text": text, **marks(extractor(text))}
        if folder == "lear-shared":
            text = TEXTS[2]
            yield {"folder": folder, "text": text, "labels": LABELS, **marks(extractor(text, labels=LABELS))}
        if folder == "spert":
            text, names = GIVEN
            given = [Entity(text.index(n), text.index(n) + len(n), label) for n, label in names.items()]
            rows = [[e.start, e.end, e.label] for e in given]
            yield {"folder": folder, "text": text, "given": rows, **marks(extractor(text, entities=given))}


def make_results() -> None:
    """Three lines as `spanwise benchmark` writes them, in the order of their runs."""
    folder = fresh_folder("results")
    chosen = {"epochs": 10, "batch_size": 4, "encoder_lr": 3e-3, "task_lr": 5e-3}  # so that entities are found
    options = [f"encoder.name={ENCODER}", "encoder.freeze_embeddings=false"]
    options += [f"train.{name}={value}" for name, value in chosen.items()]
    runs = [
        *plan("bl-ner", "demo", 1, options, variants=["SeqNER", "BL-SpanNER"]),
        *plan("joint", "demo", 1, options, variants=["SpERT"]),
    ]
    for run in runs:
        append_result(folder, execute(run, folder, 1, keep=False))
    shutil.rmtree(folder / "runs")


def main() -> None:
    """Into a new folder `made` here: relative names alone get into the files."""
    runtime.set_threads(1)
    with chdir(fresh_folder("made")):
        conftest.tiny_encoder.__wrapped__(SimpleNamespace(mktemp=fresh_folder))
        fresh_folder("corpora")
        make_runs()
        make_interrupted()
        lines = (json.dumps(line, ensure_ascii=False) for line in predictions())
        Path("predictions.jsonl").write_text("".join(line + "\n" for line in lines))
        make_results()


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
